// Go's net/http with one JSON route: the reference of serve.py. Prints its port.
package main

import (
	"fmt"
	"net"
	"net/http"
)

func main() {
	body := []byte(`{"id": 1, "name": "a", "tags": ["x", "y"]}`)
	http.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	http.Serve(listener, nil)
}
