// webhook.go PORT: receives the deliveries of a webhook.
//
//	WEBHOOK_SECRET=whsec_... INBOX=inbox go run webhook.go 9001
//
// A delivery is verified; its entries go to INBOX/news.jsonl; then INBOX/taken.json notes that they
// are there; then it is acknowledged. What was not acknowledged comes again, with the same id: after
// a crash an entry may come twice, but none is lost.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

type delivery struct {
	Type string `json:"type"`
	Data struct {
		Subscription int               `json:"subscription"`
		PrevCursor   string            `json:"prev_cursor"`
		LastCursor   string            `json:"last_cursor"`
		Entries      []json.RawMessage `json:"entries"`
	} `json:"data"`
}

// The last delivery of a subscription.
type last struct {
	ID     string `json:"id"`
	Cursor string `json:"cursor"`
}

type receiver struct {
	key   []byte
	inbox string
	lock  sync.Mutex
	taken map[int]last
}

func (r *receiver) isGenuine(fields http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(fields.Get("webhook-id") + "." + fields.Get("webhook-timestamp") + "."))
	mac.Write(body)
	wanted := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	at, err := strconv.ParseInt(fields.Get("webhook-timestamp"), 10, 64)
	age := time.Since(time.Unix(at, 0))
	if err != nil || age > 5*time.Minute || age < -5*time.Minute {
		return false
	}
	for _, one := range strings.Fields(fields.Get("webhook-signature")) {
		if hmac.Equal(wanted, []byte(one)) {
			return true
		}
	}
	return false
}

// Write to a file of the inbox. It is on disk when there is no error.
func (r *receiver) write(name string, flags int, content []byte) error {
	file, err := os.OpenFile(filepath.Join(r.inbox, name), flags|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		return err
	}
	return file.Sync()
}

func (r *receiver) receive(id string, body []byte) error {
	var d delivery
	if err := json.Unmarshal(body, &d); err != nil {
		return err
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	before, known := r.taken[d.Data.Subscription]
	if d.Type == "test" || before.ID == id {
		return nil
	}
	if known && d.Data.PrevCursor != before.Cursor {
		log.Printf("something is missing: see /log?since=%s", before.Cursor)
	}
	var lines bytes.Buffer
	for _, entry := range d.Data.Entries {
		lines.Write(append(entry, '\n'))
	}
	if err := r.write("news.jsonl", os.O_APPEND, lines.Bytes()); err != nil {
		return err
	}
	r.taken[d.Data.Subscription] = last{id, d.Data.LastCursor}
	content, err := json.Marshal(r.taken)
	if err != nil {
		return err
	}
	if err := r.write("taken.json.new", os.O_TRUNC, content); err != nil {
		return err
	}
	return os.Rename(filepath.Join(r.inbox, "taken.json.new"), filepath.Join(r.inbox, "taken.json"))
}

func (r *receiver) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil || !r.isGenuine(request.Header, body) {
		answer.WriteHeader(http.StatusUnauthorized)
		return
	}
	if err := r.receive(request.Header.Get("webhook-id"), body); err != nil {
		log.Print(err)
		answer.WriteHeader(http.StatusInternalServerError) // it comes again
		return
	}
	answer.WriteHeader(http.StatusNoContent)
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil || len(key) == 0 {
		log.Fatal("WEBHOOK_SECRET is not a secret")
	}
	r := &receiver{key: key, inbox: os.Getenv("INBOX"), taken: map[int]last{}}
	if err := os.MkdirAll(r.inbox, 0o755); err != nil {
		log.Fatal(err)
	}
	if kept, err := os.ReadFile(filepath.Join(r.inbox, "taken.json")); err == nil {
		if err := json.Unmarshal(kept, &r.taken); err != nil {
			log.Fatal(err)
		}
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], r))
}
