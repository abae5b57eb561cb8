package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/askbus/askbus/internal/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// listFlags are the flags of "askbus list".
type listFlags struct {
	state string
	limit int
	watch bool
}

func (a *app) listCmd() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List asks: who waits for what, and since when", Args: cobra.NoArgs,
		Long: `Lists asks of all sessions that the credential may see, unless --session is given:
the pending ones, the oldest first; then, with --state resolved or all, those that
ended, the newest first.`,
		Example: `  askbus list
  askbus list --state resolved --limit 20
  askbus list --session build-42 --watch`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"pending", "resolved", "all"}, f.state) {
				return usage("invalid --state %q: use pending, resolved or all", f.state)
			}
			if f.limit < 1 {
				return usage("invalid --limit %d: use 1 or more", f.limit)
			}
			b, err := a.dial()
			if err != nil {
				return err
			}
			defer b.close()
			if f.watch {
				return a.watchList(cmd.Context(), b, f)
			}
			items, more, err := a.listed(cmd.Context(), b, f)
			if err != nil {
				return err
			}
			return a.tellList(items, more)
		},
	}
	cmd.Flags().StringVar(&f.state, "state", "pending", "pending, resolved or all")
	cmd.Flags().IntVar(&f.limit, "limit", 200, "maximum number of asks")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "keep the list on the screen and update it")
	fixed(cmd, "state", "pending\twhat waits", "resolved\twhat ended", "all\tboth")
	return cmd
}

// listed reads the asks of a list: the oldest pending ones, then the newest ended ones. The bus
// lists asks in the order of asking, so it reads all ended asks but holds at most twice the limit.
func (a *app) listed(ctx context.Context, b *bus, f listFlags) (items []ask.Record, more bool, err error) {
	var state ask.State
	if f.state != "all" {
		state = ask.State(f.state)
	}
	records, err := a.records(ctx, b, a.session, "", state)
	if err != nil {
		return nil, false, err
	}
	var pending, ended []ask.Record
	for rec, err := range records {
		switch {
		case err != nil:
			return nil, false, err
		case rec.Outcome != nil:
			if ended = append(ended, rec); len(ended) >= 2*f.limit {
				ended, more = newest(ended, f.limit), true
			}
		case len(pending) < f.limit:
			pending = append(pending, rec)
		default:
			more = true
		}
		if more && state == ask.StatePending {
			break
		}
	}
	ended = newest(ended, len(ended))
	if over := len(pending) + len(ended) - f.limit; over > 0 {
		ended, more = ended[:len(ended)-over], true
	}
	return append(pending, ended...), more, nil
}

// newest returns the most recently ended asks, the newest first.
func newest(ended []ask.Record, most int) []ask.Record {
	slices.SortStableFunc(ended, func(x, y ask.Record) int {
		return cmp.Or(y.Outcome.At.Compare(x.Outcome.At), y.AskedAt.Compare(x.AskedAt))
	})
	return ended[:min(most, len(ended))]
}

func (a *app) tellList(items []ask.Record, more bool) error {
	if a.json() {
		data, err := encodeList(items)
		if err != nil {
			return err
		}
		a.printJSON(data)
	} else {
		a.tellTable(items)
	}
	if more {
		a.say("there are more; raise --limit, or narrow with --session")
	}
	return nil
}

// encodeList returns a list as JSON, in the form of the protocol's pages.
func encodeList(items []ask.Record) ([]byte, error) {
	list := make([]wire.ListItem, len(items))
	for i := range items {
		list[i].Record = items[i]
	}
	return wire.EncodePage(list, "")
}
