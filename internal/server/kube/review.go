package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Review is the API server's verdict on a token.
type Review struct {
	Authenticated bool     `json:"authenticated"`
	Audiences     []string `json:"audiences"` // the requested ones for which it is valid
	User          struct {
		Name   string              `json:"username"`
		Groups []string            `json:"groups"`
		Extra  map[string][]string `json:"extra"`
	} `json:"user"`
}

// tokenReview is the object of authentication.k8s.io/v1.
type tokenReview struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Spec       reviewSpec `json:"spec"`
	Status     Review     `json:"status,omitzero"`
}

type reviewSpec struct {
	Token     string   `json:"token"`
	Audiences []string `json:"audiences"`
}

// Review asks the API server who a token belongs to and whether it is for an
// audience. It needs the verb create on tokenreviews.
func (c *Client) Review(ctx context.Context, token, audience string) (Review, error) {
	asked := tokenReview{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview", Spec: reviewSpec{token, []string{audience}}}
	var said tokenReview
	if err := c.Do(ctx, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", "application/json", asked, &said); err != nil {
		return Review{}, fmt.Errorf("review a token: %w", err)
	}
	return said.Status, nil
}

// Keys returns the public keys with which the API server signs the tokens of
// service accounts, as a JSON Web Key Set. By default every service account may
// read them.
func (c *Client) Keys(ctx context.Context) ([]byte, error) {
	var keys json.RawMessage
	if err := c.Do(ctx, http.MethodGet, "/openid/v1/jwks", "", nil, &keys); err != nil {
		return nil, fmt.Errorf("read the keys of the API server: %w", err)
	}
	return keys, nil
}
