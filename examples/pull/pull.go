// pull.go URL FILE: keeps FILE the same as the document at URL.
//
// The ETag of the document is kept in FILE.etag. While nothing is new, the answer is 304, without a
// body.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

// The file has the old content or the new one, also after a crash.
func replace(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func pull(url, file string) (string, error) {
	request, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return "", err
	}
	if etag, err := os.ReadFile(file + ".etag"); err == nil {
		request.Header.Set("If-None-Match", string(etag))
	}
	if token := os.Getenv("FEEDMILL_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotModified {
		return "unchanged", nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %s", answer.Status)
	}
	// first the document, then its tag: a crash in between costs one download
	if err := replace(file, body); err != nil {
		return "", err
	}
	return "changed", replace(file+".etag", []byte(answer.Header.Get("ETag")))
}

func main() {
	result, err := pull(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result)
}
