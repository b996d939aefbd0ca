// probe: a pod's eyes and hands, for tests of the cluster itself. Static, so that its image needs no base.
//
//	probe serve FILE   answers each HTTP request on :8080 with its host name, and appends the host name to FILE
//	probe get URL      prints what the URL answers; exit 1 if it does not within five seconds
//	probe dial ADDRESS exit 0 if host:port takes a connection within five seconds
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

const patience = 5 * time.Second

func serve(path string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(file, host); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprintln(answer, host) })
	return http.ListenAndServe(":8080", nil)
}

func get(url string) error {
	client := http.Client{Timeout: patience}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

func dial(address string) error {
	connection, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return err
	}
	return connection.Close()
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: probe serve FILE | probe get URL | probe dial ADDRESS")
	}
	var err error
	switch os.Args[1] {
	case "serve":
		err = serve(os.Args[2])
	case "get":
		err = get(os.Args[2])
	case "dial":
		err = dial(os.Args[2])
	default:
		err = fmt.Errorf("unknown command %q", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}
