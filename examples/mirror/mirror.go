// mirror.go BASE FILE [QUESTION]: FILE has all entries as they are now, and follows the log.
//
// FILE has the entries and the cursor up to which they are known, so both change in one step: after
// a crash nothing is lost and nothing comes twice. The server holds a request until there is news.
//
// QUESTION: which entries, as view=NAME or "folder=News&q=crane"; an edited one may leave them (`left`).
// When the server cannot go on from the cursor (410), the mirror begins anew. FEEDMILL_TOKEN: the token.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"
)

type mirror struct {
	Cursor  string                     `json:"cursor"`
	Entries map[string]json.RawMessage `json:"entries"`
}

type revision struct {
	Kind  string          `json:"kind"`
	Feed  int             `json:"feed"`
	UID   string          `json:"uid"`
	Entry json.RawMessage `json:"entry"`
}

type answer struct {
	Status    int        `json:"-"`
	Revisions []revision `json:"revisions"`
	Cursor    string     `json:"cursor"`
	Horizon   string     `json:"horizon"` // of a 410: from where all follows that is kept
}

var client = http.Client{Timeout: 90 * time.Second}

func pull(base, question, cursor string) (*answer, error) {
	query := url.Values{"since": {cursor}, "max": {"1000"}, "timeout": {"55"}}
	request, err := http.NewRequest("GET", base+"/log?"+query.Encode()+"&"+question, nil)
	if err != nil {
		return nil, err
	}
	if token := os.Getenv("FEEDMILL_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK && got.StatusCode != http.StatusGone {
		return nil, fmt.Errorf("status %s", got.Status)
	}
	a := answer{Status: got.StatusCode}
	return &a, json.NewDecoder(got.Body).Decode(&a)
}

func (m *mirror) take(a *answer) {
	for _, r := range a.Revisions {
		key := fmt.Sprintf("%d %s", r.Feed, r.UID)
		if r.Kind == "deleted" || r.Kind == "left" {
			delete(m.Entries, key)
		} else {
			m.Entries[key] = r.Entry
		}
	}
	m.Cursor = a.Cursor
}

func (m *mirror) keep(file string) error {
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", content, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func main() {
	base, file, question := os.Args[1], os.Args[2], ""
	if len(os.Args) > 3 {
		question = os.Args[3]
	}
	m := mirror{Cursor: "start", Entries: map[string]json.RawMessage{}}
	if kept, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(kept, &m); err != nil {
			log.Fatal(err)
		}
	}
	for {
		a, err := pull(base, question, m.Cursor)
		if err != nil {
			log.Print(err)
			time.Sleep(2 * time.Second)
			continue
		}
		if a.Status == http.StatusGone {
			log.Print("begins anew")
			if m = (mirror{Cursor: a.Horizon, Entries: map[string]json.RawMessage{}}); m.Cursor == "" {
				m.Cursor = "start"
			}
			time.Sleep(2 * time.Second)
			continue
		}
		m.take(a)
		if err := m.keep(file); err != nil {
			log.Fatal(err)
		}
		for _, r := range a.Revisions {
			fmt.Println(r.Kind, r.UID)
		}
	}
}
