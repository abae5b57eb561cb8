package auditlog_test

import (
	"context"
	"crypto/aes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/auditlog"
	"github.com/nats-io/nats.go"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// stream is an audit: the messages that a server stores.
type stream struct {
	kept []audit.Raw
	next uint64
}

// store adds n records.
func (s *stream) store(n int) {
	for range n {
		s.next++
		s.kept = append(s.kept, audit.Raw{
			Seq: s.next, At: time.Now().Add(-time.Hour), Subject: "ledgerv1.audit.acme.a", Header: nats.Header{audit.HeaderSalt: {audit.NewSalt()}},
			Data: fmt.Appendf(nil, `{"v":1,"id":"r%d","ask":"a%d","tenant":"acme","actor":{"name":"Mei"},"waited_ms":1.50,"groups":["x","<y>"],"none":{}}`, s.next, s.next),
		})
	}
}

// read implements [auditlog.Reader].
func (s *stream) read(_ context.Context, from uint64, most int) ([]audit.Raw, error) {
	at, _ := slices.BinarySearchFunc(s.kept, from, func(m audit.Raw, seq uint64) int { return int(int64(m.Seq) - int64(seq)) })
	return slices.Clone(s.kept[at:min(at+most, len(s.kept))]), nil
}

// keys makes the keys of a log.
func keys(t *testing.T) (note.Signer, note.Verifier) {
	t.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, "bus.example.com/audit")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return signer, verifier
}

func open(t *testing.T, dir string, begin bool) *auditlog.Log {
	t.Helper()
	l, err := auditlog.Open(dir, begin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// extend makes a log current.
func extend(t *testing.T, l *auditlog.Log, s *stream, by note.Signer) {
	t.Helper()
	if err := l.Once(t.Context(), auditlog.Options{Read: s.read, Signer: by}); err != nil {
		t.Fatal(err)
	}
}

func checkpoint(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func verify(t *testing.T, dir string, s *stream, by note.Verifier, kept time.Duration, older ...[]byte) auditlog.Report {
	t.Helper()
	r, err := auditlog.Verify(t.Context(), dir, by, s.read, older, kept)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// foreign checks a log with nothing but its files, a public key and the published formats: checkpoints
// of C2SP, its paths of tiles, and a leaf that is hashed here again.
func foreign(t *testing.T, dir string, by note.Verifier, s *stream) {
	t.Helper()
	n, err := note.Open(checkpoint(t, dir), note.VerifierList(by))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(n.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || lines[0] != by.Name() {
		t.Fatalf("%q, %v", n.Text, err)
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		t.Fatal(err)
	}
	hashes := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, files(dir))
	for i := range s.kept {
		m := &s.kept[i]
		at := int64(m.Seq) // the leaf before the first record begins the log
		if at >= size {
			t.Fatalf("record %d is not in a log of %d leaves", m.Seq, size)
		}
		key := sha256.Sum256([]byte("askbus audit salt\x00" + m.Header.Get(audit.HeaderSalt)))
		salts, err := aes.NewCipher(key[:16])
		if err != nil {
			t.Fatal(err)
		}
		line := byte(3)
		salted := func(path, value string) string {
			line++
			salt := make([]byte, 16)
			salts.Encrypt(salt, append(make([]byte, 15), line))
			sum := sha256.Sum256(append(salt, path+"\x00"+value...))
			return base64.StdEncoding.EncodeToString(sum[:]) + "\n"
		}
		id := strconv.FormatUint(m.Seq, 10)
		leaf := "askbus.audit.leaf.v1\nrecord " + id + "\nstored " + m.At.UTC().Format(time.RFC3339Nano) + "\nsubject " + m.Subject + "\n" +
			salted("/v", "1") + salted("/id", `"r`+id+`"`) + salted("/ask", `"a`+id+`"`) + salted("/tenant", `"acme"`) + salted("/actor/name", `"Mei"`) + salted("/waited_ms", "1.50") +
			salted("/groups/0", `"x"`) + salted("/groups/1", `"<y>"`) + salted("/none", "{}")
		proof, err := tlog.ProveRecord(size, at, hashes)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(proof, size, root, at, tlog.RecordHash([]byte(leaf))); err != nil {
			t.Fatalf("record %d: %v", m.Seq, err)
		}
	}
}

// files reads tiles as C2SP tlog-tiles lays them out.
type files string

func (files) Height() int                     { return 8 }
func (files) SaveTiles([]tlog.Tile, [][]byte) {}
func (d files) ReadTiles(all []tlog.Tile) (data [][]byte, err error) {
	for _, t := range all {
		if t.N >= 1000 {
			return nil, errors.New("too many tiles for this test")
		}
		name := fmt.Sprintf("tile/%d/%03d", t.L, t.N)
		if t.W < 256 {
			name += fmt.Sprintf(".p/%d", t.W)
		}
		one, err := os.ReadFile(filepath.Join(string(d), name))
		if err != nil {
			return nil, err
		}
		data = append(data, one)
	}
	return data, nil
}

// However the records come, and wherever the process ends, the log is that of the audit, and grows out
// of each checkpoint before.
func TestALogIsThatOfItsAudit(t *testing.T) {
	t.Parallel()
	signer, verifier := keys(t)
	dir, s := t.TempDir(), &stream{}
	l := open(t, dir, true)
	var older [][]byte
	for _, n := range []int{1, 0, 253, 1, 1, 255, 300, 2} { // on both sides of the ends of tiles
		s.store(n)
		extend(t, l, s, signer)
		foreign(t, dir, verifier, s)
		older = append(older, checkpoint(t, dir))
		l.Close()
		l = open(t, dir, false)
	}
	r := verify(t, dir, s, verifier, time.Hour, older...)
	if r.Faulty != 0 || r.Same != int64(len(s.kept)) || r.Size != r.Same+1 || r.Newer+r.Dropped+r.Before != 0 || len(r.Breaks) != 0 {
		t.Errorf("%+v", r)
	}
	s.store(3)
	if r := verify(t, dir, s, verifier, 0); r.Faulty != 0 || r.Newer != 3 {
		t.Errorf("three are not covered yet: %+v", r)
	}
	// Another log of the same audit has the same tree, so two can never contradict each other.
	again := t.TempDir()
	extend(t, open(t, again, true), s, signer)
	extend(t, l, s, signer)
	if one, other := checkpoint(t, dir), checkpoint(t, again); string(one) != string(other) {
		t.Errorf("two logs of one audit differ:\n%s%s", one, other)
	}
}

// A process that died between two writes leaves a log that goes on.
func TestALogSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	signer, verifier := keys(t)
	dir, s := t.TempDir(), &stream{}
	l := open(t, dir, true)
	s.store(250)
	extend(t, l, s, signer)
	before, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	was := checkpoint(t, dir)
	s.store(20)
	extend(t, l, s, signer)
	l.Close()
	// The tiles are new, and what comes after them is not there yet.
	if err := os.WriteFile(filepath.Join(dir, "state.json"), before, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "checkpoint"), was, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir, s, verifier, 0, was); r.Faulty != 0 || r.Same != 250 || r.Newer != 20 {
		t.Errorf("the log before: %+v", r)
	}
	s.store(300)
	extend(t, open(t, dir, false), s, signer)
	if r := verify(t, dir, s, verifier, 0, was); r.Faulty != 0 || r.Same != 570 {
		t.Errorf("%+v", r)
	}
	foreign(t, dir, verifier, s)
}

// One process extends a log, and none begins another one by accident.
func TestOneProcessExtendsALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := auditlog.Open(dir, false); !errors.Is(err, auditlog.ErrNoLog) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := auditlog.Open(filepath.Join(dir, "none"), false); !errors.Is(err, auditlog.ErrNoLog) {
		t.Errorf("no directory: %v", err)
	}
	signer, _ := keys(t)
	l, s := open(t, dir, true), &stream{}
	s.store(2)
	extend(t, l, s, signer)
	if _, err := auditlog.Open(dir, false); !errors.Is(err, auditlog.ErrOpen) {
		t.Errorf("a second process: %v", err)
	}
	l.Close()
	if _, err := auditlog.Open(dir, true); err == nil {
		t.Error("a log was begun where there is one")
	}
	if err := os.WriteFile(filepath.Join(dir, "tile", "0", "000.p", "3"), make([]byte, 96), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := auditlog.Open(dir, false); err == nil {
		t.Error("a damaged log was opened")
	}
}

// Whatever somebody does to the audit or to the log is found.
func TestWhatWasChangedIsFound(t *testing.T) {
	t.Parallel()
	signer, verifier := keys(t)
	for name, c := range map[string]struct {
		audit func(s *stream)
		files func(t *testing.T, dir string)
		kept  time.Duration
		want  string
	}{
		"a value":                  {audit: func(s *stream) { s.kept[5].Data = []byte(strings.Replace(string(s.kept[5].Data), "Mei", "Ben", 1)) }, want: "record 6 was changed"},
		"a header":                 {audit: func(s *stream) { s.kept[5].Header.Set("ce-authid", "oidc:ben") }, want: "record 6 was changed"},
		"its salt":                 {audit: func(s *stream) { s.kept[5].Header.Set(audit.HeaderSalt, "other") }, want: "record 6 was changed"},
		"its time":                 {audit: func(s *stream) { s.kept[5].At = s.kept[5].At.Add(time.Second) }, want: "record 6 was changed"},
		"its tenant":               {audit: func(s *stream) { s.kept[5].Subject = "ledgerv1.audit.other.a" }, want: "record 6 was changed"},
		"two records change place": {audit: func(s *stream) { s.kept[5].Data, s.kept[6].Data = s.kept[6].Data, s.kept[5].Data }, want: "record 6 was changed"},
		"one is cut out":           {audit: func(s *stream) { s.kept = slices.Delete(s.kept, 5, 6) }, want: "1 records were removed, from 6 to 6"},
		"the end is cut off":       {audit: func(s *stream) { s.kept = s.kept[:7] }, want: "3 records were removed, from 8 to 10"},
		"the beginning is gone":    {audit: func(s *stream) { s.kept = s.kept[3:] }, kept: 24 * time.Hour, want: "3 records are gone"},
		"everything is gone":       {audit: func(s *stream) { s.kept = nil }, kept: time.Minute, want: "10 records are gone"},
		"a tile": {files: func(t *testing.T, dir string) {
			t.Helper()
			edit(t, filepath.Join(dir, "tile", "0", "000.p", "11"), func(data []byte) []byte { data[40]++; return data })
		}, want: "the log itself was changed"},
		"a gap is invented": {files: func(t *testing.T, dir string) {
			t.Helper()
			edit(t, filepath.Join(dir, "state.json"), func(data []byte) []byte {
				return []byte(strings.Replace(string(data), `"runs":[`, `"runs":[{"first":0,"seq":1,"why":"began"},{"first":4,"seq":6,"why":"gap"},`, 1))
			})
		}, want: "state.json was changed"},
		"its first run is forgotten": {files: func(t *testing.T, dir string) {
			t.Helper()
			edit(t, filepath.Join(dir, "state.json"), func([]byte) []byte { return []byte(`{"size":11,"next":11,"runs":[]}`) })
		}, want: "the log itself was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, s := t.TempDir(), &stream{}
			s.store(10)
			l := open(t, dir, true)
			extend(t, l, s, signer)
			l.Close()
			if c.audit != nil {
				c.audit(s)
			}
			if c.files != nil {
				c.files(t, dir)
			}
			r := verify(t, dir, s, verifier, c.kept)
			if r.Faulty == 0 || !strings.Contains(strings.Join(r.Faults, "; "), c.want) {
				t.Errorf("%+v, want %q", r, c.want)
			}
		})
	}
	t.Run("retention", func(t *testing.T) {
		t.Parallel()
		dir, s := t.TempDir(), &stream{}
		s.store(10)
		extend(t, open(t, dir, true), s, signer)
		s.kept = s.kept[4:]
		if r := verify(t, dir, s, verifier, time.Minute); r.Faulty != 0 || r.Dropped != 4 || r.Same != 6 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("the log is made again", func(t *testing.T) {
		t.Parallel()
		dir, s := t.TempDir(), &stream{}
		s.store(10)
		l := open(t, dir, true)
		extend(t, l, s, signer)
		l.Close()
		was := checkpoint(t, dir)
		s.kept[3].Data = []byte(`{"ask":"another"}`)
		again := t.TempDir()
		extend(t, open(t, again, true), s, signer)
		if r := verify(t, again, s, verifier, 0, was); r.Faulty != 1 || !strings.Contains(r.Faults[0], "made again") {
			t.Errorf("%+v", r)
		}
		if r := verify(t, again, s, verifier, 0); r.Faulty != 0 {
			t.Errorf("only a checkpoint that was published tells: %+v", r)
		}
	})
	t.Run("another key", func(t *testing.T) {
		t.Parallel()
		dir, s := t.TempDir(), &stream{}
		s.store(1)
		other, _ := keys(t)
		extend(t, open(t, dir, true), s, other)
		if _, err := auditlog.Verify(t.Context(), dir, verifier, s.read, nil, 0); err == nil {
			t.Error("a checkpoint of another key was accepted")
		}
	})
}

func edit(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A log that finds another audit stops, and goes on only when an operator says so; the log says that too.
func TestAnAuditThatLostRecordsStopsTheLog(t *testing.T) {
	t.Parallel()
	signer, verifier := keys(t)
	for name, c := range map[string]struct {
		change func(s *stream)
		at     uint64
		same   int64
	}{
		"a crash took the end back":                      {func(s *stream) { s.kept, s.next = s.kept[:7], 7 }, 8, 7},
		"a crash took the end back, and others came":     {func(s *stream) { s.kept, s.next = s.kept[:7], 7; s.store(5) }, 8, 12},
		"a restored audit counts from 1, and is shorter": {func(s *stream) { *s = stream{}; s.store(4) }, 1, 4},
		"a restored audit counts from 1, and is longer":  {func(s *stream) { *s = stream{}; s.store(40) }, 1, 40},
		"the last record was changed":                    {func(s *stream) { s.kept[9].Data = []byte(`{}`) }, 10, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, s := t.TempDir(), &stream{}
			s.store(10)
			l := open(t, dir, true)
			extend(t, l, s, signer)
			was := checkpoint(t, dir)
			if _, err := l.RejoinAt(t.Context(), s.read); !errors.Is(err, auditlog.ErrSame) {
				t.Errorf("rejoined an audit that is the same: %v", err)
			}
			c.change(s)
			if err := l.Once(t.Context(), auditlog.Options{Read: s.read, Signer: signer}); !errors.Is(err, auditlog.ErrDiffers) {
				t.Fatalf("%v", err)
			}
			if at, err := l.RejoinAt(t.Context(), s.read); err != nil || at != c.at {
				t.Fatalf("rejoined at %d, %v", at, err)
			}
			s.store(1)
			extend(t, l, s, signer)
			r := verify(t, dir, s, verifier, 0, was)
			if r.Faulty != 0 || r.Same != c.same+1 || len(r.Breaks) != 1 || r.Breaks[0].Why != auditlog.Rejoined {
				t.Errorf("%+v", r)
			}
		})
	}
	t.Run("records that the log never had", func(t *testing.T) {
		t.Parallel()
		dir, s := t.TempDir(), &stream{}
		s.store(10)
		l := open(t, dir, true)
		extend(t, l, s, signer)
		s.store(5)
		s.kept = s.kept[12:]
		extend(t, l, s, signer)
		if r := verify(t, dir, s, verifier, 0); r.Faulty != 0 || r.Same != 3 || r.Dropped != 10 || len(r.Breaks) != 1 || r.Breaks[0].Why != auditlog.Gap {
			t.Errorf("%+v", r)
		}
	})
}

// A record that is younger than a crash can take back is not in the log yet.
func TestTheLogTakesWhatIsSettled(t *testing.T) {
	t.Parallel()
	signer, _ := keys(t)
	s := &stream{}
	s.store(3)
	s.kept[1].At = time.Now().Add(time.Hour)
	l := open(t, t.TempDir(), true)
	extend(t, l, s, signer)
	if l.Next != 2 {
		t.Errorf("the next record is %d, want 2", l.Next)
	}
}

// Evidence is checked with the public key alone. Without a value the others are proven, and no value can
// be put in the place of another.
func TestEvidenceIsCheckedOffline(t *testing.T) {
	t.Parallel()
	signer, verifier := keys(t)
	dir, s := t.TempDir(), &stream{}
	s.store(400)
	extend(t, open(t, dir, true), s, signer)
	prove := func(hide ...string) auditlog.Evidence {
		e, err := auditlog.Prove(dir, verifier, []audit.Raw{s.kept[7], s.kept[390]}, func(path string) bool { return slices.Contains(hide, path) })
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.MarshalIndent(e, "", "  ") // as it is stored, mailed and read again
		if err != nil {
			t.Fatal(err)
		}
		if e, err = auditlog.ParseEvidence(data); err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := prove()
	if err := e.Check(verifier); err != nil {
		t.Error(err)
	}
	hidden := prove("/actor/name")
	if err := hidden.Check(verifier); err != nil {
		t.Errorf("without the name: %v", err)
	}
	if data, _ := json.Marshal(hidden); strings.Contains(string(data), "Mei") {
		t.Errorf("the name is still in %s", data)
	}
	_, other := keys(t)
	for name, change := range map[string]func(e *auditlog.Evidence){
		"a value":  func(e *auditlog.Evidence) { e.Records[0].Fields[4].Value = "Ben" },
		"a number": func(e *auditlog.Evidence) { e.Records[0].Fields[5].Value = json.Number("1.5") },
		"a path":   func(e *auditlog.Evidence) { e.Records[0].Fields[4].Path = "/object/name" },
		"the beginning of a path": func(e *auditlog.Evidence) {
			f := &e.Records[0].Fields[4]
			f.Salt, f.Path = append(f.Salt, f.Path[:6]...), f.Path[6:]
		},
		"a line":            func(e *auditlog.Evidence) { e.Records[0].Fields[0].Line = 99 },
		"a line below":      func(e *auditlog.Evidence) { e.Records[0].Fields[0].Line = -1 },
		"a leaf":            func(e *auditlog.Evidence) { e.Records[0].Leaf += "x" },
		"an index":          func(e *auditlog.Evidence) { e.Records[0].Index++ },
		"a proof":           func(e *auditlog.Evidence) { e.Records[1].Proof[0][0]++ },
		"the size":          func(e *auditlog.Evidence) { e.Checkpoint = strings.Replace(e.Checkpoint, "\n401\n", "\n400\n", 1) },
		"no records":        func(e *auditlog.Evidence) { e.Records = nil },
		"a record's number": func(e *auditlog.Evidence) { e.Records = append(e.Records, e.Records[1]) },
		"the order":         func(e *auditlog.Evidence) { slices.Reverse(e.Records) },
		"a value's number":  func(e *auditlog.Evidence) { f := &e.Records[0].Fields; *f = append(*f, (*f)[len(*f)-1]) },
		"its format":        func(e *auditlog.Evidence) { e.Format = "" },
		"a marker":          func(e *auditlog.Evidence) { e.Records[0].Leaf = audit.LeafVersion + "\nbegan\nnext 1\n" },
	} {
		e := prove()
		if change(&e); e.Check(verifier) == nil {
			t.Errorf("%s was changed, and nothing says so", name)
		}
	}
	if e.Check(other) == nil {
		t.Error("another key was accepted")
	}
	whole, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(whole) + "}", string(whole) + string(whole), strings.Replace(string(whole), "{", `{"approved":true,`, 1)} {
		if _, err := auditlog.ParseEvidence([]byte(text)); err == nil {
			t.Errorf("evidence with something beside it was read: %.40q … %q", text, text[len(text)-10:])
		}
	}
	s.store(1)
	if _, err := auditlog.Prove(dir, verifier, s.kept[400:], func(string) bool { return false }); !errors.Is(err, auditlog.ErrNotYet) {
		t.Errorf("a record that no checkpoint covers: %v", err)
	}
}

// A body that is no JSON, or has too many values, is one value; and equal texts have different hashes.
func TestLeaves(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat("1,", 5000) + "1]"
	for name, c := range map[string]struct {
		data   string
		fields string // their paths
	}{
		"JSON": {`{"a":[1,{"b":"x"}],"c":null}`, "/a/0 /a/1/b /c"}, "text": {"no JSON", "body"}, "nothing": {"", "body"}, "a number": {"7", "/"}, "two values": {"{} {}", "body"},
		"many values": {many, "body"}, "a name twice": {`{"a":1,"a":2}`, "/a /a"}, "a comma too many": {"[1,]", "body"}, "broken UTF-8": {"[\"\xff\"]", "body"},
		"escapes": {`{"a~/b":"\u00e9\n\/","":[[],{}]}`, "/a~0~1b //0 //1"},
	} {
		m := audit.Raw{Seq: 1, Subject: "s", Header: nats.Header{audit.HeaderSalt: {"x"}, "Nats-Msg-Id": {"left out"}}, Data: []byte(c.data)}
		text, fields := string(m.AppendLeaf(nil)), m.Fields()
		var paths []string
		for i := range fields {
			paths = append(paths, fields[i].Path)
			if err := fields[i].Check([]byte(text)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if strings.Join(paths, " ") != c.fields {
			t.Errorf("%s has the values %q, want %q", name, paths, c.fields)
		}
		other := m
		other.Header = nats.Header{audit.HeaderSalt: {"y"}}
		if string(other.AppendLeaf(nil)) == text {
			t.Errorf("%s: the salt does not matter", name)
		}
		if strings.Contains(text, "no JSON") {
			t.Errorf("%s: the leaf has the text", name)
		}
	}
}
