package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Ready reports whether a pod of a StatefulSet of this namespace is ready. It needs the verb get on it.
func (c *Secrets) Ready(ctx context.Context, set string) (bool, error) {
	var object struct {
		Status struct {
			Ready int `json:"readyReplicas"`
		} `json:"status"`
	}
	path := "/apis/apps/v1/namespaces/" + url.PathEscape(c.namespace) + "/statefulsets/" + url.PathEscape(set)
	if err := c.api.Do(ctx, http.MethodGet, path, "", nil, &object); err != nil {
		return false, fmt.Errorf("read StatefulSet %s: %w", set, err)
	}
	return object.Status.Ready > 0, nil
}
