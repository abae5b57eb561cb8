package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// ChatsOptions configures the measurements of all chats together.
type ChatsOptions struct {
	Asks      int           // of the race; default 500
	Cards     int           // of each chat that are outdated after an outage; default 500
	Outage    time.Duration // by the platforms' clock; default an hour
	Speed     float64       // of that clock; default 60
	Presented int           // asks for the rate at which they are presented, in each chat; default 200
}

// QuickChats returns options for measurements that end within a minute.
func QuickChats() ChatsOptions {
	return ChatsOptions{Asks: 40, Cards: 20, Outage: 10 * time.Minute, Presented: 40}
}

// chatPatience bounds a wait for all cards, and for a reply to a press, which a busy machine delays.
const chatPatience = 10 * time.Minute

// Chats is the result for all chats with fakes of their platforms in this process.
type Chats struct {
	Machine   Machine         `json:"machine"`
	Speed     float64         `json:"clock_speed"`
	Race      ChatRace        `json:"race"`
	Recovery  []ChatRecovery  `json:"recovery"`
	Presented []ChatPresented `json:"presented"`
}

// ChatRace is what came of asks that were answered in every chat, in the browser and in a terminal at once.
type ChatRace struct {
	Asks     int            `json:"asks"`
	Surfaces int            `json:"surfaces"`
	Presses  int            `json:"presses"`
	Lost     int            `json:"presses_without_a_reply"` // in the time that the platform waits
	Outcomes int            `json:"outcomes"`                // each the same for the agent and in the ledger
	Live     int            `json:"live_buttons_left"`
	Wrong    int            `json:"cards_without_the_outcome"`
	Refused  map[string]int `json:"over_a_platforms_limits"`
	First    map[string]int `json:"answered_first_in"`
	Seconds  float64        `json:"seconds"`

	example string // of a wrong card
}

// ChatRecovery is the recovery of one chat after an outage, by the platform's clock.
type ChatRecovery struct {
	Chat    string  `json:"chat"`
	Cards   int     `json:"cards"`
	Outage  float64 `json:"outage_s"`
	True    float64 `json:"true_again_s"`
	Calls   int     `json:"calls_meanwhile"`
	Refused int     `json:"over_limits"`
}

// ChatPresented is how many asks a second become cards, where neither the platform nor the surface limits them.
type ChatPresented struct {
	Chat     string  `json:"chat"`
	Replicas int     `json:"replicas"`
	PerSec   float64 `json:"per_s"`
}

// Write prints the report.
func (c Chats) Write(out io.Writer) error {
	r := c.Race
	pairs := []any{
		"machine", c.Machine,
		fmt.Sprintf("race of %d surfaces on %d asks", r.Surfaces, r.Asks), fmt.Sprintf("%d presses in %.1f s (%d without a reply in time), %d outcomes, %d live buttons left, %d cards without the outcome", r.Presses, r.Seconds, r.Lost, r.Outcomes, r.Live, r.Wrong),
		"answered first in", counts(r.First), "calls over a platform's limits", counts(r.Refused),
	}
	for _, one := range c.Recovery {
		pairs = append(pairs, fmt.Sprintf("%s: %d cards true after %s away", one.Chat, one.Cards, time.Duration(one.Outage)*time.Second),
			fmt.Sprintf("%.0f s (clock %.0f times as fast), %d calls while away, %d over its limits", one.True, c.Speed, one.Calls, one.Refused))
	}
	for _, one := range c.Presented {
		pairs = append(pairs, fmt.Sprintf("%s: presented by %d replicas", one.Chat, one.Replicas), fmt.Sprintf("%.0f asks/s", one.PerSec))
	}
	return lines(out, pairs...)
}

func counts(of map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprint(name, " ", of[name]))
	}
	return strings.Join(all, ", ")
}

// Err returns what a race must not show, or nil.
func (r ChatRace) Err() error {
	if r.Outcomes != r.Asks || r.Live != 0 || r.Wrong != 0 {
		return fmt.Errorf("bench: of %d asks %d have one outcome; %d live buttons are left, %d cards do not show the outcome %s", r.Asks, r.Outcomes, r.Live, r.Wrong, r.example)
	}
	return nil
}

// Chats measures all chats.
func (b *Bed) Chats(ctx context.Context, o ChatsOptions) (c Chats, err error) {
	set := func(v *int, usual int) {
		if *v <= 0 {
			*v = usual
		}
	}
	set(&o.Asks, 500)
	set(&o.Cards, 500)
	set(&o.Presented, 200)
	if o.Outage <= 0 {
		o.Outage = time.Hour
	}
	if o.Speed <= 0 {
		o.Speed = 60
	}
	c.Machine, c.Speed = ThisMachine(), o.Speed
	if c.Race, err = b.chatRace(ctx, o); err != nil {
		return c, err
	}
	if c.Recovery, err = b.chatRecovery(ctx, o); err != nil {
		return c, err
	}
	for _, p := range platforms() {
		for _, n := range []int{1, 2, 4} {
			rate, err := b.chatPresented(ctx, p.typ, n, o.Presented)
			if err != nil {
				return c, fmt.Errorf("%s: %w", p.typ, err)
			}
			c.Presented = append(c.Presented, ChatPresented{p.typ, n, rate})
		}
	}
	return c, nil
}

// chatRace lets everybody answer each ask at once, and everybody else's than the first be too late.
func (b *Bed) chatRace(ctx context.Context, o ChatsOptions) (r ChatRace, err error) {
	w := fakeslack.Wall{Speed: o.Speed}
	s, err := b.chatBed(ctx, "race", typesOf(), 1, w, false)
	if err != nil {
		return r, err
	}
	defer s.close()
	r = ChatRace{Asks: o.Asks, Surfaces: len(s.chats) + 2, Refused: map[string]int{}, First: map[string]int{}}
	keys := make([]ask.Key, o.Asks)
	if err := each(o.Asks, func(i int) (err error) { keys[i], err = s.ask(ctx, i); return err }); err != nil {
		return r, err
	}
	if err := s.await(ctx, o.Asks, o.Asks); err != nil {
		return r, err
	}
	cards := make([][]chatCard, o.Asks)
	for _, typ := range slices.Sorted(maps.Keys(s.chats)) {
		for _, c := range s.chats[typ].cards() {
			if n := askNumber(c.text); n >= 0 && n < o.Asks {
				cards[n] = append(cards[n], c)
			}
		}
	}
	began := time.Now()
	outcomes, pressed, lost := make([]ask.Outcome, o.Asks), atomic.Int64{}, atomic.Int64{}
	err = each(o.Asks, func(i int) error {
		var all sync.WaitGroup
		var failed errorList
		for n, c := range cards[i] {
			all.Go(func() {
				if c.press(ctx, chatOptions[(n+i)%2].Label) != nil {
					lost.Add(1)
				}
			})
		}
		for n, at := range []*responder.Responder{s.web, s.terminal} {
			all.Go(func() {
				if _, err := at.Answer(ctx, keys[i], chatReply(n, at.Type())); !errors.Is(err, ask.ErrResolved) {
					failed.add(err)
				}
			})
		}
		pressed.Add(int64(len(cards[i]) + 2))
		all.Wait()
		got, err := s.session.Wait(ctx, keys[i].ID)
		outcomes[i] = got
		return errors.Join(failed.err(), err)
	})
	r.Presses, r.Lost = int(pressed.Load()), int(lost.Load())
	if err != nil {
		return r, err
	}
	if err := s.await(ctx, o.Asks, 0); err != nil {
		return r, err
	}
	r.Seconds = round(time.Since(began).Seconds())
	return r, s.judge(ctx, &r, keys, outcomes)
}

// judge looks at what a race has left.
func (b *chatBed) judge(ctx context.Context, r *ChatRace, keys []ask.Key, outcomes []ask.Outcome) error {
	said := make([]string, len(keys)) // the label of what was decided
	for i, k := range keys {
		rec, err := b.web.Get(ctx, k)
		if err != nil {
			return err
		}
		if o := rec.Outcome; o != nil && len(o.Answers) == 1 && len(outcomes[i].Answers) == 1 && slices.Equal(o.Answers[0].Selected, outcomes[i].Answers[0].Selected) {
			r.Outcomes++
			if o.By != nil {
				r.First[o.By.Responder]++
			}
			for _, option := range chatOptions {
				if slices.Contains(o.Answers[0].Selected, option.ID) {
					said[i] = option.Label
				}
			}
		}
	}
	for typ, p := range b.chats {
		r.Refused[typ] = p.over()
		for _, c := range p.cards() {
			n := askNumber(c.text)
			switch {
			case c.live:
				r.Live++
			case typ == "email": // whose first mail stays as it is; its page must not
				if c.press(ctx, "") != nil {
					r.Live++
				}
			case n >= 0 && n < len(said) && !strings.Contains(c.text, said[n]):
				r.Wrong, r.example = r.Wrong+1, typ+" shows "+strconv.Quote(c.text)+" for "+said[n]
			}
		}
	}
	return nil
}

// errorList collects errors of goroutines.
type errorList struct {
	mu  sync.Mutex
	all []error
}

func (l *errorList) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, err)
}

func (l *errorList) err() error { return errors.Join(l.all...) }

// chatRecovery makes every platform be away at once, while all its asks are answered elsewhere.
func (b *Bed) chatRecovery(ctx context.Context, o ChatsOptions) ([]ChatRecovery, error) {
	w := fakeslack.Wall{Speed: o.Speed}
	s, err := b.chatBed(ctx, "away", typesOf(), 1, w, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	keys := make([]ask.Key, o.Cards)
	if err := each(o.Cards, func(i int) (err error) { keys[i], err = s.ask(ctx, i); return err }); err != nil {
		return nil, err
	}
	if err := s.await(ctx, o.Cards, o.Cards); err != nil {
		return nil, err
	}
	before := map[string]int{}
	for typ, p := range s.chats {
		before[typ] = p.over()
		p.down(true)
	}
	away := w.Now()
	if err := each(o.Cards, func(i int) error { _, err := s.web.Answer(ctx, keys[i], chatReply(1, "ann")); return err }); err != nil {
		return nil, err
	}
	if err := w.Sleep(ctx, o.Outage-w.Now().Sub(away)); err != nil {
		return nil, err
	}
	back := w.Now()
	all := make([]ChatRecovery, 0, len(s.chats))
	for _, p := range platforms() {
		one := s.chats[p.typ]
		all = append(all, ChatRecovery{Chat: p.typ, Cards: o.Cards, Outage: o.Outage.Seconds(), Calls: one.failed()})
		one.down(false)
	}
	err = each(len(all), func(i int) error {
		r, p := &all[i], s.chats[all[i].Chat]
		one := &chatBed{chats: map[string]*platform{r.Chat: p}}
		err := one.await(ctx, o.Cards, 0)
		r.True, r.Refused = round(w.Now().Sub(back).Seconds()), p.over()-before[r.Chat]
		return err
	})
	return all, err
}

// unlimitedSpeed is that of a clock by which no limit of a surface slows it down.
const unlimitedSpeed = 5000

// chatPresented measures how fast asks become cards.
func (b *Bed) chatPresented(ctx context.Context, typ string, replicas, asks int) (perSec float64, err error) {
	s, err := b.chatBed(ctx, fmt.Sprint("p", typ, replicas), []string{typ}, replicas, fakeslack.Wall{Speed: unlimitedSpeed}, true)
	if err != nil {
		return 0, err
	}
	defer s.close()
	keys := make([]ask.Key, asks)
	began := time.Now()
	if err := each(asks, func(i int) (err error) { keys[i], err = s.ask(ctx, i); return err }); err != nil {
		return 0, err
	}
	if err := s.await(ctx, asks, asks); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if err := each(asks, func(i int) error { _, err := s.web.Answer(ctx, keys[i], chatReply(1, "ann")); return err }); err != nil { // nothing stays behind
		return 0, err
	}
	return float64(asks) / took.Seconds(), s.await(ctx, asks, 0)
}
