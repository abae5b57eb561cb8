package gateway

import "net/http"

func (g *Gateway) embed(w http.ResponseWriter, r *http.Request, c *caller) error { return nil }
func embedAsset(w http.ResponseWriter, r *http.Request, c *caller) error         { return nil }
func document(b []byte) handler                                                  { return nil }
func schema(w http.ResponseWriter, r *http.Request, c *caller) error             { return nil }

var openAPI, asyncAPI []byte
