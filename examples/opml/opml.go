// opml.go BASE LIST: subscribes to all feeds of an OPML list.
//
// With known=skip, what is subscribed already is not subscribed again, so it can be called each time
// that the list has changed.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
)

type result struct {
	URLs     []string          `json:"urls"`
	Known    []json.RawMessage `json:"known"`
	Problems []struct {
		Outline int    `json:"outline"`
		Detail  string `json:"detail"`
	} `json:"problems"`
	Detail string `json:"detail"` // of an error
}

func subscribe(base, list string) (*result, error) {
	file, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	request, err := http.NewRequest("POST", base+"/sub?known=skip", file)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "text/x-opml")
	if token := os.Getenv("FEEDMILL_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var r result
	if err := json.NewDecoder(answer.Body).Decode(&r); err != nil {
		return nil, err
	}
	if answer.StatusCode/100 != 2 {
		return nil, errors.New(r.Detail)
	}
	return &r, nil
}

func main() {
	r, err := subscribe(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("subscribed to %d feeds, %d were known\n", len(r.URLs), len(r.Known))
	for _, problem := range r.Problems {
		fmt.Printf("outline %d: %s\n", problem.Outline, problem.Detail)
	}
}
