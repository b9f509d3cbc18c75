// events.go BASE FOLDER [QUESTION]: writes each event to FOLDER/news.jsonl as it happens.
//
// FOLDER/position is the id of the last event that was taken. The event is written first, then its
// id: after a crash it may come twice, but none is lost.
// QUESTION: which entries, as view=NAME or "folder=News&q=crane". When the server cannot go on from
// the position (410), all that it has comes again. FEEDMILL_TOKEN: the token.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func note(folder, id string) error {
	path := filepath.Join(folder, "position")
	if err := os.WriteFile(path+".new", []byte(id), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func take(folder, data string) error {
	news, err := os.OpenFile(filepath.Join(folder, "news.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer news.Close()
	_, err = news.WriteString(data + "\n")
	return err
}

func follow(base, folder, question string) error {
	since := "start"
	if kept, err := os.ReadFile(filepath.Join(folder, "position")); err == nil {
		since = string(kept)
	}
	query := url.Values{"since": {since}}
	request, err := http.NewRequest("GET", base+"/events?"+query.Encode()+"&"+question, nil)
	if err != nil {
		return err
	}
	if token := os.Getenv("FEEDMILL_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusGone {
		gone := struct{ Horizon string }{}
		if err := json.NewDecoder(answer.Body).Decode(&gone); err != nil {
			return err
		}
		if gone.Horizon == "" {
			gone.Horizon = "start"
		}
		return note(folder, gone.Horizon)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", answer.Status)
	}
	// a comment comes every 15 seconds, so a silent connection is dead
	dead := time.AfterFunc(time.Minute, func() { answer.Body.Close() })
	defer dead.Stop()
	id := ""
	for lines := bufio.NewReader(answer.Body); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		dead.Reset(time.Minute)
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case name == "id":
			id = value
		case name == "data":
			if err := take(folder, value); err != nil {
				log.Fatal(err)
			}
		case line == "" && id != "": // the end of an event
			if err := note(folder, id); err != nil {
				log.Fatal(err)
			}
		}
	}
}

func main() {
	base, folder, question := os.Args[1], os.Args[2], ""
	if len(os.Args) > 3 {
		question = os.Args[3]
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		log.Fatal(err)
	}
	for {
		if err := follow(base, folder, question); err != nil {
			log.Print(err)
		}
		time.Sleep(2 * time.Second)
	}
}
