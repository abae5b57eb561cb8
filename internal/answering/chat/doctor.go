package chat

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/askbus/askbus/internal/process/finding"
)

// maxChecked bounds the channels that a doctor checks.
const maxChecked = 50

// Channels returns the channels of all targets, each once, at most 50.
func (r *Routes) Channels() (all []string) {
	targets := []Target{r.Default}
	for i := range r.Rules {
		targets = append(targets, r.Rules[i].To)
	}
	for _, to := range targets {
		if to.Channel != "" && len(all) < maxChecked && !slices.Contains(all, to.Channel) {
			all = append(all, to.Channel)
		}
	}
	return all
}

// CheckGroups checks that the members of every group that the routes map can be read. Members returns their number.
func CheckGroups(ctx context.Context, checks *finding.List, r *Routes, members func(ctx context.Context, id string) (int, error)) {
	check := checks.Say
	for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
		id := r.Groups[name]
		n, err := members(ctx, id)
		switch {
		case err != nil:
			check("group "+name, finding.Broken, "group %s cannot be read, so it has no members here: %v", id, err)
		case n == 0:
			check("group "+name, finding.Missing, "group %s has no members: nobody can answer its asks here", id)
		default:
			check("group "+name, finding.Good, "%s of %s", Members(n), id)
		}
	}
}

// Members says how many members there are.
func Members(n int) string {
	if n == 1 {
		return "1 member"
	}
	return strconv.Itoa(n) + " members"
}
