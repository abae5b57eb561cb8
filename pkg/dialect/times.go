package dialect

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// spelling normalizes the spelling of a key: timeout_ms, timeoutMs and
// timeout-ms all become timeoutms.
func spelling(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
}

// limitUnit returns the unit of a number under a key that limits how long an
// ask stays open. A key without a unit also takes durations such as 30m.
func limitUnit(key string) (unit time.Duration, named, known bool) {
	switch spelling(key) {
	case "timeout", "timelimit", "ttl":
		return time.Second, false, true
	case "timeoutms", "timeoutmillis", "timeoutmilliseconds", "timelimitms", "ttlms", "autoresolutionms", "expiresinms":
		return time.Millisecond, true, true
	case "timeouts", "timeoutsec", "timeoutsecs", "timeoutseconds", "timelimitseconds", "ttlseconds", "expiresin", "expiresinseconds", "seconds":
		return time.Second, true, true
	case "timeoutmin", "timeoutmins", "timeoutminutes", "timelimitminutes", "minutes":
		return time.Minute, true, true
	}
	return 0, false, false
}

// times reads when an ask ends by itself, in any spelling: hardly any foreign
// shape defines it, so agents spell it in many ways.
func (b *builder) times(v value) {
	var before value
	for _, key := range v.keys() {
		unit, named, known := limitUnit(key)
		at := spelling(key) == "deadline" || spelling(key) == "expiresat"
		if !known && !at {
			continue
		}
		f := v.field(key)
		if !f.given() {
			continue
		}
		if before.given() {
			wrong, other := f, before
			if at {
				wrong, other = before, f // report the fault at the duration
			}
			wrong.fault(ask.FaultGivenTogether, other.name())
			continue
		}
		before = f
		if at {
			b.ask.Deadline = f.moment()
		} else {
			b.ask.Timeout = f.duration(unit, named)
		}
	}
	if at := v.first("atDeadline", "at_deadline"); at.given() {
		b.ask.AtDeadline, b.tops["/at_deadline"] = ask.AtDeadline(at.string()), at.at
	}
}

func (v value) keys() []string {
	if o, ok := v.raw.(*object); ok {
		return o.keys
	}
	return nil
}

func (v value) name() string { return v.at[strings.LastIndexByte(v.at, '/')+1:] }

// moment reads a time. Programs write one without a zone, as Python's isoformat does, or
// as a number: a whole ask is not refused for that.
func (v value) moment() (t time.Time) {
	if n, ok := v.raw.(json.Number); ok {
		switch at, _ := n.Float64(); {
		case at < 1e9 || at >= 1e14: // most likely a duration
			v.wrongType("string")
			return t
		case at < 1e11:
			t = time.Unix(int64(at), 0).UTC()
		default:
			t = time.UnixMilli(int64(at)).UTC()
		}
		v.warn("is the number %s; it is read as %s", n, t.Format(time.RFC3339))
		return t
	}
	s := strings.Replace(v.string(), " ", "T", 1)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil && s != "" {
		if t, err = time.Parse("2006-01-02T15:04:05", s); err == nil {
			v.warn("has no time zone; it is read as %s", t.Format(time.RFC3339))
			return t
		}
		v.fault(ask.FaultBadTime, clip(v.string()))
	}
	return t
}

// duration reads how long an ask stays open, clipped to the bounds of an ask. Zero
// and less are a fault.
func (v value) duration(unit time.Duration, named bool) time.Duration {
	var d time.Duration
	switch raw := v.raw.(type) {
	case string:
		var err error
		if strings.TrimSpace(raw) == "" {
			return 0
		}
		if d, err = time.ParseDuration(raw); err == nil {
			break
		}
		n, notNumber := strconv.ParseFloat(strings.TrimSpace(raw), 64)
		if notNumber != nil || n != n {
			v.fault(ask.FaultBadDuration, clip(raw))
			return 0
		}
		d = v.units(n, unit, named)
	case json.Number:
		n := v.number()
		if n == nil {
			return 0
		}
		d = v.units(*n, unit, named)
	default:
		v.wrongType("duration")
		return 0
	}
	switch {
	case d == 0:
		v.fault(ask.FaultZeroDuration)
		return 0
	case d < 0: // most likely a mistake; clipped, the ask would end before anybody sees it
		v.fault(ask.FaultOutOfRange, clip(fmt.Sprint(v.raw)), ask.MinTimeout, "720h")
		return 0
	}
	if clipped := min(max(d, ask.MinTimeout), ask.MaxTimeout); clipped != d {
		v.warn("is %s; %s is used", d, clipped)
		d = clipped
	}
	return d
}

// units returns n units as a duration, limited to just outside the bounds of an
// ask. Below zero it is -1.
func (v value) units(n float64, unit time.Duration, named bool) time.Duration {
	most := float64(ask.MaxTimeout/unit) + 1
	if n < 0 {
		return -1
	}
	d := time.Duration(min(n, most) * float64(unit))
	if d == 0 && n > 0 {
		d = 1
	}
	if !named {
		v.warn("is a number without a unit; it is read as %s. Write a duration such as \"30m\", or timeout_ms", d)
	}
	return d
}
