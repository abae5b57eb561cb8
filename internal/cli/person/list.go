package person

import (
	"cmp"
	"context"
	"slices"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// ListFlags are the flags of "askbus list".
type ListFlags struct {
	State string
	Limit int
	watch bool
}

// ListCmd is "askbus list".
func ListCmd(a *cli.App) *cobra.Command {
	var f ListFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List asks: who waits for what, and since when", Args: cobra.NoArgs,
		Long: `Lists asks of all sessions that the credential may see, unless --session is given:
the pending ones, the oldest first; then, with --state resolved or all, those that
ended, the newest first.`,
		Example: `  askbus list
  askbus list --state resolved --limit 20
  askbus list --session build-42 --watch`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"pending", "resolved", "all"}, f.State) {
				return cli.Usage("invalid --state %q: use pending, resolved or all", f.State)
			}
			if f.Limit < 1 {
				return cli.Usage("invalid --limit %d: use 1 or more", f.Limit)
			}
			b, err := a.Dial()
			if err != nil {
				return err
			}
			defer b.Close()
			if f.watch {
				return watchList(cmd.Context(), a, b, f)
			}
			items, more, err := Listed(cmd.Context(), a, b, f)
			if err != nil {
				return err
			}
			return printList(a, items, more)
		},
	}
	cmd.Flags().StringVar(&f.State, "state", "pending", "pending, resolved or all")
	cmd.Flags().IntVar(&f.Limit, "limit", 200, "maximum number of asks")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "keep the list on the screen and update it")
	cli.Fixed(cmd, "state", "pending\twhat waits", "resolved\twhat ended", "all\tboth")
	return cmd
}

// Listed reads the asks of a list: the oldest pending ones, then the newest ended ones. The bus
// lists asks in the order of asking, so it reads all ended asks but holds at most twice the limit.
func Listed(ctx context.Context, a *cli.App, b *cli.Bus, f ListFlags) (items []ask.Record, more bool, err error) {
	var state ask.State
	if f.State != "all" {
		state = ask.State(f.State)
	}
	records, err := a.Records(ctx, b, a.Session, "", state)
	if err != nil {
		return nil, false, err
	}
	var pending, ended []ask.Record
	for rec, err := range records {
		switch {
		case err != nil:
			return nil, false, err
		case rec.Outcome != nil:
			if ended = append(ended, rec); len(ended) >= 2*f.Limit {
				ended, more = newest(ended, f.Limit), true
			}
		case len(pending) < f.Limit:
			pending = append(pending, rec)
		default:
			more = true
		}
		if more && state == ask.StatePending {
			break
		}
	}
	ended = newest(ended, len(ended))
	if over := len(pending) + len(ended) - f.Limit; over > 0 {
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

func printList(a *cli.App, items []ask.Record, more bool) error {
	if a.JSON() {
		data, err := encodeList(items)
		if err != nil {
			return err
		}
		a.PrintJSON(data)
	} else {
		a.TellTable(items)
	}
	if more {
		a.Note("there are more; raise --limit, or narrow with --session")
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
