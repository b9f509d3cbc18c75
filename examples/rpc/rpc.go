// rpc.go PORT FILE: an XML-RPC server to which entries are pushed. FILE has the last state of each.
//
//	go run rpc.go 9001 entries.json
//
// The entries are on disk before the call is answered. A fault would count as delivered, so when something
// fails the answer is 500: then the call comes again. An entry that comes twice changes nothing.
package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync"
)

// A value of XML-RPC. It has one of these, or is a string without a type.
type value struct {
	Text    string  `xml:",chardata"`
	String  *string `xml:"string"`
	Int     *string `xml:"int"`
	I4      *string `xml:"i4"`
	I8      *string `xml:"i8"`
	Double  *string `xml:"double"`
	Boolean *string `xml:"boolean"`
	Time    *string `xml:"dateTime.iso8601"`
	Base64  *string `xml:"base64"`
	Nil     *string `xml:"nil"`
	Array   *struct {
		Values []value `xml:"data>value"`
	} `xml:"array"`
	Struct *struct {
		Members []struct {
			Name  string `xml:"name"`
			Value value  `xml:"value"`
		} `xml:"member"`
	} `xml:"struct"`
}

// What encoding/json writes.
func (v value) plain() any {
	switch {
	case v.Struct != nil:
		members := map[string]any{}
		for _, m := range v.Struct.Members {
			members[m.Name] = m.Value.plain()
		}
		return members
	case v.Array != nil:
		list := []any{}
		for _, one := range v.Array.Values {
			list = append(list, one.plain())
		}
		return list
	case v.Boolean != nil:
		return *v.Boolean == "1"
	case v.Nil != nil:
		return nil
	}
	for _, number := range []*string{v.Int, v.I4, v.I8, v.Double} {
		if number != nil {
			return json.Number(*number)
		}
	}
	for _, text := range []*string{v.String, v.Time, v.Base64} {
		if text != nil {
			return *text
		}
	}
	return v.Text
}

type call struct {
	Method string  `xml:"methodName"`
	Params []value `xml:"params>param>value"`
}

type receiver struct {
	file    string
	lock    sync.Mutex
	entries map[string]any // by feed and id
}

// Write all entries to the file. They are on disk when there is no error.
func (r *receiver) keep() error {
	content, err := json.Marshal(r.entries)
	if err != nil {
		return err
	}
	out, err := os.Create(r.file + ".new")
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := out.Write(content); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	return os.Rename(r.file+".new", r.file)
}

func (r *receiver) feedReceived(params []value) error {
	if len(params) != 3 {
		return errors.New("feedReceived has three parameters")
	}
	news, isList := params[2].plain().([]any)
	if !isList {
		return errors.New("the third parameter is not a list")
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, one := range news {
		entry, isStruct := one.(map[string]any)
		if !isStruct {
			return errors.New("an entry is not a struct")
		}
		r.entries[fmt.Sprint(params[1].plain(), " ", entry["id"])] = entry
		fmt.Println(entry["title"])
	}
	return r.keep()
}

const done = `<params><param><value><boolean>1</boolean></value></param></params>`
const fault = `<fault><value><struct>` +
	`<member><name>faultCode</name><value><int>1</int></value></member>` +
	`<member><name>faultString</name><value>there is no such method</value></member></struct></value></fault>`

func (r *receiver) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	var c call
	result := fault
	err := xml.NewDecoder(request.Body).Decode(&c)
	if err == nil && c.Method == "feedReceived" {
		result = done
		err = r.feedReceived(c.Params)
	}
	if err != nil {
		log.Print(err)
		answer.WriteHeader(http.StatusInternalServerError) // it comes again
		return
	}
	answer.Header().Set("Content-Type", "text/xml")
	fmt.Fprint(answer, `<?xml version="1.0"?><methodResponse>`+result+`</methodResponse>`)
}

func main() {
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	r := &receiver{file: os.Args[2], entries: map[string]any{}}
	if kept, err := os.ReadFile(r.file); err == nil {
		if err := json.Unmarshal(kept, &r.entries); err != nil {
			log.Fatal(err)
		}
	}
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", port), r))
}
