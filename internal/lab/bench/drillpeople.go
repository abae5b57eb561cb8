package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/client"
)

// The people of a drill: they sign in at the inbox and answer there, and click in the fake Slack.

// signIn signs the people in at the inbox, each with their own cookies.
func (r *drill) signIn(ctx context.Context) error {
	r.o.Progress("waiting for the inbox")
	for i := range r.o.People {
		jar, err := cookiejar.New(nil)
		if err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		person := &http.Client{Jar: jar, Transport: r.o.Inbox, Timeout: 15 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		for attempt := 0; ; attempt++ {
			link, err := r.o.Link(i)
			if err != nil {
				return err
			}
			if r.home, err = url.Parse(link); err != nil {
				return fmt.Errorf("bench: %w", err)
			}
			status, err := r.visit(ctx, person, http.MethodGet, link, nil)
			if status == http.StatusSeeOther {
				break
			}
			if status/100 == 4 {
				return fmt.Errorf("bench: the inbox refuses the sign-in: %d", status)
			}
			if backoff.Wait(ctx, time.Second, min(attempt, 2)) != nil {
				return errors.Join(ctx.Err(), err)
			}
		}
		r.people = append(r.people, person)
	}
	return nil
}

func (r *drill) visit(ctx context.Context, person *http.Client, method, at string, form url.Values) (int, error) {
	req, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := person.Do(req)
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // the body is only read
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// answer has an ask answered in the inbox by one person or two, unless it is
// answered in Slack, and returns the accepted answers.
func (r *drill) answer(ctx context.Context, at client.Session, id string, n int, inSlack bool) (accepted []string) {
	if inSlack || backoff.Sleep(ctx, time.Duration(200+n*37%600)*time.Millisecond) != nil { // the time that people need to read
		return nil
	}
	who := []int{n}
	if n%raceEvery == 0 {
		who = append(who, n+1)
		r.mu.Lock()
		r.d.Raced++
		r.mu.Unlock()
	}
	said := make(chan string, len(who))
	for _, i := range who {
		go func() { said <- r.decide(ctx, at.String(), id, i) }()
	}
	for range who {
		if answerID := <-said; answerID != "" {
			accepted = append(accepted, answerID)
		}
	}
	return accepted
}

// decide sends one person's answer until the inbox confirms it, or says that
// somebody else was first.
func (r *drill) decide(ctx context.Context, at, id string, i int) (answerID string) {
	answerID = id + "-" + strconv.Itoa(i)
	form := url.Values{"answer_id": {answerID}, "select:go": {"=yes"}, "note:go": {answerID}}
	to := r.home.Scheme + "://" + r.home.Host + "/ask/" + at + "/" + id + "/answer"
	began := time.Now()
	for attempt := 0; ; attempt++ {
		status, err := r.visit(ctx, r.people[i%len(r.people)], http.MethodPost, to, form)
		switch {
		case err == nil && status == http.StatusSeeOther:
			r.mu.Lock()
			r.answers = append(r.answers, time.Since(began))
			r.mu.Unlock()
			return answerID
		case err == nil && (status == http.StatusConflict || status == http.StatusGone):
			return ""
		case err == nil && status != http.StatusNotFound && status/100 == 4:
			r.fault(&r.d.Lost, "%s/%s: the inbox said %d to an answer", at, id, status)
			return ""
		}
		if backoff.Wait(ctx, 50*time.Millisecond, min(attempt, 5)) != nil {
			return ""
		}
	}
}

// click presses "Yes" on every new card, and again if nothing happens for a
// while, as people do.
func (r *drill) click(ctx context.Context) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		cards := r.fake.Messages(drillChannel)
		for i := range cards {
			m := &cards[i]
			if m.User != fakeslack.BotUser || !m.Live() || time.Since(r.clicked[m.Place]) < 8*time.Second {
				continue
			}
			r.clicked[m.Place] = time.Now()
			r.fake.Click(drillMember, m.Place, drillYes) //nolint:contextcheck // a person's click has no context
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
