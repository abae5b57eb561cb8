package natsd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// silent is how long after its last contact with the leader a node counts as
// offline. The servers notice a killed node only minutes later. A running node
// is in contact every second.
const silent = 8 * time.Second

// Member is a node of a cluster, as seen by the cluster's leader.
type Member struct {
	Name    string
	Offline bool
}

// Members asks the leader of a cluster for its nodes. It needs a connection as
// [rights.RoleCluster].
func Members(ctx context.Context, nc *nats.Conn) ([]Member, error) {
	msg, err := nc.RequestWithContext(ctx, rights.SubjectMembers, []byte(`{"leader_only":true}`))
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) {
		return nil, errors.New("no leader answers: this server is not in a cluster, or fewer than half of the cluster's nodes run")
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the nodes of the cluster: %w", err)
	}
	var said struct {
		Data struct {
			Meta *struct {
				Leader   string `json:"leader"`
				Replicas []struct {
					Name    string        `json:"name"`
					Offline bool          `json:"offline"`
					Active  time.Duration `json:"active"` // since its last contact with the leader
				} `json:"replicas"`
			} `json:"meta_cluster"`
		} `json:"data"`
	}
	if err := json.Unmarshal(msg.Data, &said); err != nil {
		return nil, fmt.Errorf("read the nodes of the cluster: %w", err)
	}
	if said.Data.Meta == nil {
		return nil, errors.New("this server is not a node of a cluster")
	}
	members := []Member{{Name: said.Data.Meta.Leader}}
	for _, r := range said.Data.Meta.Replicas {
		members = append(members, Member{r.Name, r.Offline || r.Active > silent})
	}
	return members, nil
}

// RemoveNode removes a node that will not come back from a cluster, and returns
// the remaining ones. The node must be stopped: a running one would continue,
// and serve nothing. Its copies are made on another node if one has room for
// them.
func RemoveNode(ctx context.Context, nc *nats.Conn, name string) ([]Member, error) {
	members, err := Members(ctx, nc)
	if err != nil {
		return nil, err
	}
	var left []Member
	var names []string
	found := false
	for _, m := range members {
		names = append(names, m.Name)
		switch {
		case m.Name != name:
			left = append(left, m)
		case !m.Offline:
			return nil, fmt.Errorf("node %s is running: stop it, wait ten seconds, and then remove it", name)
		default:
			found = true
		}
	}
	if !found {
		return nil, fmt.Errorf("no node %q in this cluster, which has %s", name, strings.Join(names, ", "))
	}
	body, err := json.Marshal(map[string]string{"peer": name})
	if err != nil {
		return nil, err
	}
	msg, err := nc.RequestWithContext(ctx, rights.SubjectRemove, body)
	if err != nil {
		return nil, fmt.Errorf("remove node %s: %w", name, err)
	}
	var said struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(msg.Data, &said); err != nil {
		return nil, fmt.Errorf("remove node %s: %w", name, err)
	}
	if said.Error != nil {
		return nil, fmt.Errorf("remove node %s: the server refused: %s", name, said.Error.Description)
	}
	return left, nil
}
