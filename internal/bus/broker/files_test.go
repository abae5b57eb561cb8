package broker_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// picture returns a PNG of about so many bytes.
func picture(t *testing.T, bytesOfNoise int) []byte {
	t.Helper()
	side := 1
	for side*side*4 < bytesOfNoise {
		side++
	}
	img := image.NewNRGBA(image.Rect(0, 0, side, side))
	noise := rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%032d", bytesOfNoise))))
	_, _ = noise.Read(img.Pix)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// repairPNG sets the checksum of the head of a PNG.
func repairPNG(data []byte) {
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
}

func upload(t *testing.T, s client.Session, name string, data []byte) ask.File {
	t.Helper()
	f, err := s.Upload(t.Context(), name, data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFilesOfAnAskAndOfItsAnswer(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	large, small := picture(t, 700_000), []byte("2026-11-25 10:00:00 \x1b[31mERROR\x1b[0m disk full\n")
	a := storage()
	a.ID = "a1"
	a.Files = []ask.File{upload(t, c, "/home/mei/../shot.png", large)}
	file := upload(t, c, `C:\logs\today.log`, small)
	a.Questions[0].Options[0].File = &file
	if a.Files[0].Name != "shot.png" || a.Files[0].MediaType != ask.MediaPNG || file.Name != "today.log" || file.MediaType != ask.MediaText {
		t.Errorf("files %+v %+v", a.Files[0], file)
	}
	for range 2 { // again: the same ask
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	rec, err := r.Get(t.Context(), k)
	if err != nil || !slices.Equal(rec.Ask.Files, a.Files) || *rec.Ask.Questions[0].Options[0].File != file {
		t.Fatalf("the ask %+v %v", rec.Ask, err)
	}
	if f, data, err := r.File(t.Context(), k.InSession(), a.Files[0].ID); err != nil || !bytes.Equal(data, large) || f != a.Files[0] {
		t.Fatalf("the surface reads %+v, %d bytes, %v", f, len(data), err)
	}
	pasted := picture(t, 5_000)
	theirs, err := r.Upload(t.Context(), k.InSession(), "pasted.png", pasted)
	if err != nil {
		t.Fatal(err)
	}
	reply := pick("pg")
	reply.Answers[0].Files = []ask.File{theirs}
	o, err := r.Answer(t.Context(), k, reply)
	if err != nil || !slices.Equal(o.Answers[0].Files, reply.Answers[0].Files) {
		t.Fatalf("outcome %+v %v", o, err)
	}
	if _, data, err := c.File(t.Context(), theirs.ID); err != nil || !bytes.Equal(data, pasted) {
		t.Fatalf("the agent reads %d bytes, %v", len(data), err)
	}
	led := b.Ledger()
	for _, f := range append(a.Files, file, theirs) {
		if stored, err := led.File(t.Context(), k.InSession(), f.ID); err != nil || time.Until(stored.Expires) < 30*24*time.Hour {
			t.Errorf("%s: %+v %v, want it to live as long as its ask", f.Name, stored, err)
		}
	}
}

func TestAnAskWithAWrongFileIsRefused(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, other, r := newClient(t, b, "s1"), newClient(t, b, "s2"), newResponder(t, b, "web")
	mine := upload(t, c, "shot.png", picture(t, 1000))
	foreign := upload(t, other, "secret.txt", []byte("of another session"))
	changed := func(change func(*ask.File)) ask.File {
		f := mine
		change(&f)
		return f
	}
	for name, tc := range map[string]struct {
		files []ask.File
		want  string // "pointer code"
	}{
		"of another session": {[]ask.File{mine, foreign}, "/files/1/id no_file"},
		"never uploaded":     {[]ask.File{changed(func(f *ask.File) { f.ID = strings.Repeat("a", 64) })}, "/files/0/id no_file"},
		"another media type": {[]ask.File{changed(func(f *ask.File) { f.MediaType = ask.MediaText })}, "/files/0/media_type other_file"},
		"SVG":                {[]ask.File{changed(func(f *ask.File) { f.MediaType = "image/svg+xml" })}, "/files/0/media_type not_one_of"},
		"another size":       {[]ask.File{changed(func(f *ask.File) { f.Size++ })}, "/files/0/size other_file"},
		"an id with dots":    {[]ask.File{changed(func(f *ask.File) { f.ID = "../../" + f.ID[6:] })}, "/files/0/id bad_file_id"},
		"a wildcard":         {[]ask.File{changed(func(f *ask.File) { f.ID = "*" })}, "/files/0/id bad_file_id"},
		"a path":             {[]ask.File{changed(func(f *ask.File) { f.Name = "../../etc/passwd" })}, "/files/0/name bad_file_name"},
		"another direction":  {[]ask.File{changed(func(f *ask.File) { f.Name = "shot\u202egnp.exe" })}, "/files/0/name bad_file_name"},
		"nine files":         {slices.Repeat([]ask.File{mine}, 9), "/files too_many"},
	} {
		a := storage()
		a.Files = tc.files
		_, err := c.Ask(t.Context(), a)
		e, ok := errors.AsType[*ask.Error](err)
		if !ok || len(e.Faults) != 1 || e.Faults[0].Pointer+" "+string(e.Faults[0].Code) != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
	a := storage()
	a.ID = "a1"
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	reply := pick("pg")
	reply.Answers[0].Files = []ask.File{foreign}
	_, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, reply)
	if e, ok := errors.AsType[*ask.Error](err); !ok || len(e.Faults) != 1 || e.Faults[0].Pointer != "/answers/0/files/0/id" {
		t.Errorf("an answer with a foreign file: %v", err)
	}
	if _, _, err := c.File(t.Context(), foreign.ID); !errors.Is(err, ask.ErrNotFound) {
		t.Errorf("a session reads another one's file: %v", err)
	}
}

func TestBytesThatAreNoFileAreRefused(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc := b.Agent("acme", "s1")
	send := func(id string, part string, body []byte) *nats.Msg {
		msg := nats.NewMsg(subject.Agent(ask.Key{Tenant: "acme", Session: "s1", ID: id}, subject.VerbUpload))
		if msg.Data = body; part != "" {
			msg.Header.Set(wire.HeaderPart, part)
		}
		reply, err := nc.RequestMsg(msg, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	bomb := picture(t, 100)
	copy(bomb[16:], []byte{0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30}) // says 30,000 × 30,000
	repairPNG(bomb)
	for name, tc := range map[string]struct {
		data []byte
		body string // {id}, {size}
		want string
	}{
		"SVG as text":            {[]byte("<svg onload=alert(1)>"), `{"media_type":"image/svg+xml","size":{size}}`, "not_one_of"},
		"HTML as an image":       {[]byte("<html><script>1</script>"), `{"media_type":"image/png","size":{size}}`, "other_media_type"},
		"an image as text":       {picture(t, 100), `{"media_type":"text/plain","size":{size}}`, "other_media_type"},
		"an ELF":                 {[]byte("\x7fELF\x02\x01\x01\x00"), `{"size":{size}}`, "bad_file"},
		"a ZIP":                  {[]byte("PK\x03\x04\x00\x00"), `{"size":{size}}`, "bad_file"},
		"only a signature":       {[]byte("\x89PNG\r\n\x1a\n<script>"), `{"size":{size}}`, "bad_image"},
		"900 million pixels":     {bomb, `{"size":{size}}`, "large_image"},
		"another size":           {[]byte("twelve bytes"), `{"size":11}`, "cut_file"},
		"a part is missing":      {[]byte("twelve bytes"), `{"size":200000}`, "cut_file"},
		"a name with a path":     {[]byte("twelve bytes"), `{"name":"../x","size":{size}}`, "bad_file_name"},
		"six megabytes":          {[]byte("twelve bytes"), `{"size":6000000}`, "out_of_range"},
		"another file's subject": {[]byte("twelve bytes"), `{"id":"` + strings.Repeat("b", 64) + `","size":{size}}`, "disagrees"},
	} {
		id := ask.FileID(tc.data)
		if e := wire.DecodeProblem(send(id, "0", tc.data).Data); e != nil {
			t.Fatalf("%s: the part: %v", name, e)
		}
		e := wire.DecodeProblem(send(id, "", []byte(strings.ReplaceAll(tc.body, "{size}", fmt.Sprint(len(tc.data))))).Data)
		if e == nil || len(e.Faults) != 1 || string(e.Faults[0].Code) != tc.want {
			t.Errorf("%s: %v, want %s", name, e, tc.want)
		}
		if e := wire.DecodeProblem(send(id, "", []byte(`{"size":1}`)).Data); e == nil {
			t.Errorf("%s: it is there", name)
		}
	}
	for _, part := range []string{"-1", "40", "x", "1e3"} {
		if e := wire.DecodeProblem(send(strings.Repeat("a", 64), part, []byte("x")).Data); e == nil || e.Code != ask.CodeInvalid {
			t.Errorf("part %s: %v", part, e)
		}
	}
	// Nobody changes what somebody else uploads.
	id := ask.FileID([]byte("good"))
	send(id, "0", []byte("good"))
	if e := wire.DecodeProblem(send(id, "0", []byte("evil")).Data); e == nil || e.Code != ask.CodeConflict {
		t.Errorf("other bytes in the same place: %v", e)
	}
	if e := wire.DecodeProblem(send(id, "", []byte(`{"size":4}`)).Data); e != nil {
		t.Error(e)
	}
}

// Two thousand uploads that no ask refers to leave nothing, though no broker runs
// when they expire.
func TestUploadsWithoutAnAskAreDeletedWithoutABroker(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true, Ledger: ledger.Options{UploadLife: 5 * time.Second}})
	stop := b.Broker(limited(t, "{}"))
	c := newClient(t, b, "s1")
	kept := storage()
	kept.ID, kept.Files = "a1", []ask.File{upload(t, c, "kept.txt", []byte("kept"))}
	if _, err := c.Ask(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	var g errgroup.Group
	g.SetLimit(32)
	for i := range 2000 / waittest.Fewer {
		g.Go(func() error {
			_, err := c.Upload(t.Context(), "x.txt", fmt.Append(nil, "file ", i))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	stop()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), subject.FileStream)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(waittest.Limit); ; {
		info, err := s.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.State.Msgs == 2 { // the head and the part of the one that an ask refers to
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d messages are left", info.State.Msgs)
		}
	}
}

func TestFilesHaveAQuota(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	b.Broker(limited(t, "default: {file_bytes: 1MiB, session: {file_bytes: 600KiB}}"))
	_, err := newClient(t, b, "s1").Upload(t.Context(), "large.png", picture(t, 800_000))
	overQuota(t, err, "session s1 of tenant acme would have")
	upload(t, newClient(t, b, "s2"), "some.png", picture(t, 300_000))
	_, err = newClient(t, b, "s3").Upload(t.Context(), "more.png", picture(t, 500_000))
	overQuota(t, err, "tenant acme would have")
}
