package oncall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PagerDuty is what PagerDuty's REST API says of schedules.
type PagerDuty struct {
	API       string // default https://api.pagerduty.com
	Schedules string // their ids, separated by commas
	TokenFile string // file with the token of a read-only API key
}

// API is PagerDuty's own, of accounts in the US; the EU's is https://api.eu.pagerduty.com.
const API = "https://api.pagerduty.com"

// Bounds of one read: pages of as many entries.
const (
	maxPages = 20
	perPage  = 100
)

// entries is a page of GET /oncalls.
type entries struct {
	OnCalls []struct {
		User struct {
			Name    string `json:"name"`
			Summary string `json:"summary"`
			Email   string `json:"email"`
		} `json:"user"`
		Schedule *struct {
			ID string `json:"id"`
		} `json:"schedule"`
		Start *time.Time `json:"start"`
		End   *time.Time `json:"end"`
	} `json:"oncalls"`
	More bool `json:"more"`
}

// fetch reads who is on call between two times. Each person is listed once for each
// escalation policy and level that uses the schedule.
func (p *PagerDuty) fetch(ctx context.Context, from, to time.Time) ([]Shift, error) {
	token, err := readToken(p.TokenFile)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Authorization": {"Token token=" + token}, "Accept": {"application/vnd.pagerduty+json;version=2"}, "Content-Type": {"application/json"}}
	ids := strings.Split(p.Schedules, ",")
	q := url.Values{
		"schedule_ids[]": ids, "include[]": {"users"}, "time_zone": {"UTC"}, "limit": {strconv.Itoa(perPage)},
		"since": {from.UTC().Format(time.RFC3339)}, "until": {to.UTC().Format(time.RFC3339)},
	}
	var shifts []Shift
	for page := range maxPages {
		q.Set("offset", strconv.Itoa(page*perPage))
		data, err := get(ctx, cmp.Or(p.API, API)+"/oncalls?"+q.Encode(), header)
		if answered, ok := errors.AsType[*statusError](err); ok {
			switch answered.code {
			case http.StatusUnauthorized, http.StatusForbidden:
				return nil, fmt.Errorf("%w: it does not take the key in token_file; give a read-only API key of this account, and the api of its region", err)
			case http.StatusNotFound:
				return nil, fmt.Errorf("%w: it does not know one of the schedules", err)
			case http.StatusTooManyRequests:
				return nil, fmt.Errorf("%w: too many requests with this key", err)
			}
		}
		if err != nil {
			return nil, err
		}
		var got entries
		if err := json.Unmarshal(data, &got); err != nil || got.OnCalls == nil { // an empty list is nobody, no list is not PagerDuty
			return nil, errors.New("its answer to /oncalls has no list of oncalls: is api the address of PagerDuty's REST API?")
		}
		for _, o := range got.OnCalls {
			if o.Schedule == nil || !slices.Contains(ids, o.Schedule.ID) {
				continue // of an escalation policy without a schedule
			}
			s := Shift{From: from, To: to, Who: []Contact{{Email: emailOf(o.User.Email), Name: cmp.Or(o.User.Name, o.User.Summary)}}}
			if o.Start != nil {
				s.From = *o.Start
			}
			if o.End != nil {
				s.To = *o.End
			}
			if !slices.ContainsFunc(shifts, func(t Shift) bool { return t.From.Equal(s.From) && t.To.Equal(s.To) && t.Who[0] == s.Who[0] }) {
				shifts = append(shifts, s)
			}
		}
		if !got.More {
			return shifts, nil
		}
	}
	return nil, fmt.Errorf("it has more than %d entries for these schedules", maxPages*perPage)
}

// readToken reads a secret of one line.
func readToken(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("token_file: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	token := strings.TrimSpace(string(data))
	if err != nil || token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", errors.Join(fmt.Errorf("token_file: %s does not hold a token of one line", name), err)
	}
	return token, nil
}
