package person

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// ListFlags are the flags of "askbus list".
type ListFlags struct {
	State  string
	Limit  int
	oldest bool
	watch  bool
}

// ListCmd is "askbus list".
func ListCmd(a *cli.App) *cobra.Command {
	var f ListFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List asks: who waits for what, and since when", Args: cobra.NoArgs,
		Long: `Lists asks of all sessions that the credential may see, unless --session is given:
the pending ones, the most urgent first, or with --oldest the oldest; then, with
--state resolved or all, those that ended, the newest first.`,
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
			items, total, err := Listed(cmd.Context(), a, b, f)
			if err != nil {
				return err
			}
			return printList(a, items, total > len(items))
		},
	}
	cmd.Flags().StringVar(&f.State, "state", "pending", "pending, resolved or all")
	cmd.Flags().IntVar(&f.Limit, "limit", 200, "maximum number of asks")
	cmd.Flags().BoolVar(&f.oldest, "oldest", false, "list what waits longest first, whatever its priority")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "keep the list on the screen and update it")
	cli.Fixed(cmd, "state", "pending\twhat waits", "resolved\twhat ended", "all\tboth")
	return cmd
}

// Listed reads the asks of a list: the pending ones in the order of every queue, or the oldest first, then the newest ended
// ones. The total counts also those beyond the limit. The bus lists asks in the order of asking, so all are read, unless
// only the oldest pending ones are wanted; at most twice the limit of each are held.
func Listed(ctx context.Context, a *cli.App, b *cli.Bus, f ListFlags) (items []ask.Record, total int, err error) {
	var state ask.State
	if f.State != "all" {
		state = ask.State(f.State)
	}
	records, err := a.Records(ctx, b, a.Session, "", state)
	if err != nil {
		return nil, 0, err
	}
	pending, ended := first{order: inQueue, most: f.Limit}, first{order: newest, most: f.Limit}
	if f.oldest {
		pending.order = oldest
	}
	for rec, err := range records {
		if err != nil {
			return nil, 0, err
		}
		if total++; rec.Outcome != nil {
			ended.add(rec)
		} else {
			pending.add(rec)
		}
		if f.oldest && state == ask.StatePending && total > f.Limit {
			break
		}
	}
	items = append(pending.sorted(), ended.sorted()...)
	return items[:min(len(items), f.Limit)], total, nil
}

// first keeps the first of many asks in an order.
type first struct {
	order func(x, y ask.Record) int
	most  int
	asks  []ask.Record
}

func (l *first) add(rec ask.Record) {
	if l.asks = append(l.asks, rec); len(l.asks)/2 >= l.most {
		l.asks = l.sorted()
	}
}

func (l *first) sorted() []ask.Record {
	sort.SliceStable(l.asks, func(i, j int) bool { return l.order(l.asks[i], l.asks[j]) < 0 })
	return l.asks[:min(l.most, len(l.asks))]
}

func oldest(x, y ask.Record) int { return x.AskedAt.Compare(y.AskedAt) }

// newest orders ended asks: the last that ended is the first.
func newest(x, y ask.Record) int {
	return cmp.Or(y.Outcome.At.Compare(x.Outcome.At), y.AskedAt.Compare(x.AskedAt))
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
