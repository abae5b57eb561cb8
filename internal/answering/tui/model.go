package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/internal/answering/picture"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
)

// Source provides pending and recently ended asks: the kit's board. Calls may be concurrent.
type Source interface {
	Pending(f board.Filter, offset, limit int) (heads []board.Head, total int)
	Ended(f board.Filter) []ask.Record
	Get(ctx context.Context, k ask.Key) (ask.Record, error)
	Status() board.Status
	Learn(rec ask.Record)
}

// Decider sends a person's decision: a responder of the kit. Repeating an answer id is harmless.
type Decider interface {
	Answer(ctx context.Context, k ask.Key, r ask.Reply) (ask.Outcome, error)
	Cancel(ctx context.Context, k ask.Key, d responder.Decline) (ask.Outcome, error)
	Unvote(ctx context.Context, k ask.Key, id string, by ask.By) ([]ask.Vote, error)
}

// Team provides who works on an ask: the kit's board. Calls may be concurrent.
type Team interface {
	Snooze(ctx context.Context, v board.Viewer, k ask.Key, until time.Time) error
	Snoozed(ctx context.Context, v board.Viewer) (map[ask.Key]time.Time, error)
	HandOver(ctx context.Context, v board.Viewer, k ask.Key, to, word string) error
	TakeBack(ctx context.Context, v board.Viewer, k ask.Key, from string) error
	Attending(k ask.Key) []board.Attention
	Look(v board.Viewer, k ask.Key, answering bool) error
	Leave(v board.Viewer, k ask.Key) error
}

// Options configures the screen.
type Options struct {
	Source  Source
	Team    Team // nil: no snoozing, handing over or presence
	Decider Decider
	By      ask.By
	Viewer  card.Viewer
	Session string              // only this session; default: all
	Keys    map[string][]string // keys of actions; default: those of the help
	Theme   Theme               // default: ThemeAuto
	OneKey  bool                // a digit sends a single choice
	Drafts  *Drafts             // keep what is not sent; nil: it ends with the screen
	Once    ask.Key             // show only this ask, then quit
	First   bool                // show only the most urgent ask, then quit

	Now  func() time.Time // default: time.Now
	Undo time.Duration    // how long an answer is held before it is sent, at most [MaxUndo]; 0: not at all
	// File reads a file of an ask that the person sees; nil: files are names and links.
	File   func(ctx context.Context, s ask.Session, id string) (ask.File, []byte, error)
	Images *picture.Decoder                 // one for a process; default: one for this screen
	Open   func(url string)                 // opens a browser; default: none
	Notify func(n int) string               // terminal output for new asks while unfocused; default: a bell
	Status func(n int, first string) string // terminal output for the number of waiting asks; default: none
	// SignedOut reports that the person's sign-in has ended, so that the bus is unreachable for them; default: never.
	SignedOut func() bool
	// Refused reports that the server refuses the person's credential; default: never.
	Refused func() bool
}

// settle is for how long an ask that nobody chose takes no keys: they are for what was shown before.
const settle = 300 * time.Millisecond

// maxRows bounds the list; more are counted.
const maxRows = 2000

// model is the state of the screen. Only Update changes it.
type model struct {
	opts   Options
	keys   keymap
	styles styles
	theme  Theme // of the styles
	colors colorprofile.Profile
	width  int
	height int

	heads   []board.Head
	rows    []int // indexes of heads that match the filter
	total   int
	status  board.Status
	synced  bool // it was, once
	ended   []ask.Record
	focus   ask.Key
	chosen  ask.Key // the ask that the person moved to, until it is shown
	top     int     // first visible row of the list
	inCard  bool
	opening bool // Enter opened the ask in focus before it was read
	mine    bool
	snoozed bool                  // the list shows snoozed asks
	off     map[ask.Key]time.Time // this person's snoozed asks
	there   presence
	filter  editor
	finding bool

	graphics graphics
	file     openFile

	forms   map[ask.Key]*form
	overlay overlay
	held    []held // in the order in which they were given
	holds   int
	moving  *movedMsg // the last snooze or hand-over, while z takes it back
	blurred bool
	active  time.Time // of the last key, click, text or focus
	typed   time.Time // of the last key
	quiet   time.Time // keys before it are for what was shown before
	waiting int       // last number reported to the terminal
	said    string
	message string
	outcome *ask.Outcome // with Once: the outcome
	failed  error
}

// changedMsg says that the source has changed.
type changedMsg struct{}

type (
	tickMsg   time.Time
	recordMsg struct {
		key ask.Key
		rec ask.Record
		err error
	}
	sentMsg struct {
		key ask.Key
		o   ask.Outcome
		err error
	}
	takenBackMsg struct {
		key   ask.Key
		votes []ask.Vote
		err   error
	}
	heldMsg int
)

func newModel(opts Options) (*model, error) {
	keys, err := newKeymap(opts.Keys, opts.Viewer.Say)
	if err != nil {
		return nil, err
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Undo < 0 || opts.Undo > MaxUndo {
		return nil, fmt.Errorf("undo %s: use 0 to %s", opts.Undo, MaxUndo)
	}
	if opts.Images == nil {
		opts.Images = picture.NewDecoder()
	}
	opts.Theme = cmp.Or(opts.Theme, ThemeAuto)
	opts.Viewer.By = opts.By
	m := &model{opts: opts, keys: keys, theme: opts.Theme, colors: colorprofile.TrueColor, mine: true, forms: map[ask.Key]*form{}, width: 80, height: 24, focus: opts.Once, active: opts.Now()}
	m.inCard = m.single()
	m.restyle()
	return m, nil
}

// single reports whether the screen shows only one ask.
func (m *model) single() bool { return m.opts.First || m.opts.Once != (ask.Key{}) }

// Init requests the background color and starts the ticks.
func (m *model) Init() tea.Cmd { return tea.Batch(tea.RequestBackgroundColor, tick(), m.refresh()) }

// ground takes the theme of the terminal's background, unless one was chosen.
func (m *model) ground(dark bool) {
	switch {
	case m.opts.Theme != ThemeAuto:
	case dark:
		m.theme = ThemeDark
	default:
		m.theme = ThemeLight
	}
	m.restyle()
}

// restyle chooses the styles again, by what is known of the terminal.
func (m *model) restyle() { m.styles = newStyles(m.theme, m.colors) }

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) }) }

// shown names the ask on the screen; empty: there is none yet.
func (m *model) shown() string {
	if f := m.form(); f != nil {
		return m.focus.String() + "\x00" + f.rec.Life
	}
	return ""
}

// Update handles a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	before := m.shown()
	cmd := m.update(msg)
	if shown := m.shown(); shown != "" && shown != before {
		if now := m.opts.Now(); m.focus != m.chosen && (before != "" || now.Sub(m.typed) < 2*settle) {
			m.quiet = now.Add(settle)
		}
		m.chosen = ask.Key{}
	}
	if covered := m.covered(); covered != nil {
		cmd = tea.Batch(covered, cmd)
	}
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case tea.FocusMsg, tea.PasteMsg, tea.KeyPressMsg, tea.MouseClickMsg, tea.MouseWheelMsg:
		m.active = m.opts.Now()
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		if m.file.drawn && m.overlay.kind == overlayFiles {
			return m.encode()
		}
	case tea.BackgroundColorMsg:
		m.ground(msg.IsDark())
	case tea.ColorProfileMsg:
		m.colors = msg.Profile
		m.restyle()
	case tea.FocusMsg:
		m.blurred = false
	case tea.BlurMsg:
		m.blurred = true
	case tickMsg:
		m.keepDrafts()
		return tea.Batch(tick(), m.attend())
	case movedMsg:
		return m.moved(msg)
	case changedMsg:
		return m.refresh()
	case recordMsg:
		return m.loaded(msg)
	case sentMsg:
		return m.sent(msg)
	case takenBackMsg:
		return m.tookBack(msg)
	case fileMsg:
		return m.gotFile(msg)
	case imageMsg:
		return m.gotImage(msg)
	case paintMsg:
		return m.paint(msg)
	case uv.KittyGraphicsEvent, uv.CellSizeEvent, uv.PrimaryDeviceAttributesEvent:
		return m.replied(msg)
	case heldMsg:
		return m.release(int(msg))
	case tea.PasteMsg:
		if e := m.editor(); e != nil {
			e.insert(msg.Content)
			m.touched()
		}
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.MouseClickMsg:
		return m.click(msg.X, msg.Y)
	case tea.MouseWheelMsg:
		m.wheel(msg.Button == tea.MouseWheelUp)
	}
	return nil
}

func (m *model) boardFilter() board.Filter {
	f := board.Filter{Viewer: m.viewer(), Mine: m.mine, Session: m.opts.Session, Without: m.off}
	if m.snoozed {
		f.Without, f.Only = nil, m.off
	}
	return f
}

// refresh reads the list again. The ask that is being read or answered keeps its place, even after
// it ended.
func (m *model) refresh() tea.Cmd {
	m.readOff()
	m.heads, m.total = m.opts.Source.Pending(m.boardFilter(), 0, maxRows)
	m.ended = m.opts.Source.Ended(board.Filter{Viewer: board.Viewer{By: m.opts.By}, Session: m.opts.Session})
	m.status = m.opts.Source.Status()
	m.group()
	for i := range m.heads {
		h := &m.heads[i]
		m.supersede(h)
		if f := m.forms[h.Key]; f != nil && (h.Approval != nil || len(h.Escalate) > 0) && f.rec.Life == h.Life && f.end == nil && !f.sending {
			f.rec.Votes, f.rec.Escalated, f.rec.Ask.Audience = h.Votes, h.Escalated, h.Audience
		}
	}
	for i := range m.ended {
		rec := &m.ended[i]
		if f := m.forms[rec.Ask.Key()]; f != nil && f.end == nil && (rec.Life == "" || rec.Life == f.rec.Life) && !f.sending {
			if f.overtaken = m.inCard && m.focus == rec.Ask.Key() && m.editor() == f.editor() && f.editor() != nil; !f.overtaken {
				f.typing = typingNothing
			}
			f.end = rec.Outcome
			f.rec.Outcome, f.rec.State = rec.Outcome, ask.StateResolved
			if h := m.heldFor(rec.Ask.Key()); h != nil { // somebody else was first
				m.unhold(h)
				m.message = m.card(f).End.Late()
			}
			if m.opts.Once == rec.Ask.Key() || m.opts.First && m.focus == rec.Ask.Key() {
				m.outcome = rec.Outcome
			}
		}
	}
	if m.opts.First && m.status.Synced && m.total == 0 && m.focus == (ask.Key{}) {
		return tea.Quit // nothing is waiting
	}
	var load, lost tea.Cmd
	if m.status.Synced && !m.synced {
		if m.synced = true; !m.single() && m.total < maxRows {
			lost = m.overtaken()
		}
	}
	if m.focus == (ask.Key{}) && len(m.rows) > 0 {
		load = m.focusOn(m.heads[m.rows[0]].Key)
	} else if m.focus != (ask.Key{}) && m.forms[m.focus] == nil {
		load = m.load(m.focus)
	}
	return tea.Batch(load, lost, m.notify())
}

// notify reports the number of waiting asks to the terminal. It notifies only if there were none
// before and the terminal is unfocused.
func (m *model) notify() tea.Cmd {
	if !m.status.Synced {
		return nil
	}
	before := m.waiting
	m.waiting = m.total
	var cmds []tea.Cmd
	first := ""
	if len(m.heads) > 0 {
		first = m.heads[0].Heading
	}
	if m.opts.Status != nil {
		if s := m.opts.Status(m.total, first); s != m.said {
			m.said = s
			cmds = append(cmds, tea.Raw(s))
		}
	}
	if before == 0 && m.total > 0 && m.blurred {
		s := "\a"
		if m.opts.Notify != nil {
			s = m.opts.Notify(m.total)
		}
		cmds = append(cmds, tea.Raw(s))
	}
	return tea.Batch(cmds...)
}

// focusOn shows an ask.
func (m *model) focusOn(k ask.Key) tea.Cmd {
	m.focus, m.message, m.opening = k, "", false
	if f := m.forms[k]; f != nil && !m.askedAgain(f) {
		return nil
	}
	return m.load(k)
}

// askedAgain reports whether the agent has asked the id of a form again since: the form is of an earlier ask.
func (m *model) askedAgain(f *form) bool {
	return slices.ContainsFunc(m.heads, func(h board.Head) bool { return h.Key == f.rec.Ask.Key() && h.Life != f.rec.Life })
}

// supersede drops what belongs to an earlier ask with the id of a pending one: what is held for it, and its form unless
// somebody reads it or has begun to answer it. Then [model.again] shows the new ask once they go on.
func (m *model) supersede(h *board.Head) {
	f := m.forms[h.Key]
	if f == nil || f.rec.Life == h.Life || f.sending {
		return
	}
	if held := m.heldFor(h.Key); held != nil {
		m.unhold(held)
		m.message = m.say("Not sent: the agent has asked this again. Look at it, then answer.")
	}
	if f.end == nil && !f.touched || h.Key != m.focus && (f.sentHere || len(f.begun()) == 0) {
		delete(m.forms, h.Key)
	}
}

// again shows the new ask in place of a form of an earlier one, instead of sending it.
func (m *model) again(f *form) tea.Cmd {
	m.message = m.say("Not sent: the agent has asked this again. Look at it, then answer.")
	return m.load(f.rec.Ask.Key())
}

func (m *model) load(k ask.Key) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		rec, err := m.opts.Source.Get(ctx, k)
		return recordMsg{k, rec, err}
	}
}

// maxForms bounds the forms in memory; those with drafts are dropped last.
const maxForms = 200

func (m *model) loaded(msg recordMsg) tea.Cmd {
	if msg.err != nil {
		if m.focus == msg.key {
			m.message = m.say("Cannot read this ask: %s", ask.CleanLine(msg.err.Error()))
		}
		if m.single() && msg.key == m.focus {
			m.failed = msg.err
			return tea.Quit
		}
		return nil
	}
	if f := m.forms[msg.key]; f != nil && f.rec.Life == msg.rec.Life {
		return nil
	}
	if len(m.forms) >= maxForms {
		for k, f := range m.forms {
			if !f.touched && k != m.focus {
				delete(m.forms, k)
			}
		}
	}
	f := newForm(msg.rec, card.OpensContext(&msg.rec.Ask))
	inherited := f.inherit(m.forms[msg.key])
	switch resumed := m.resume(f); {
	case !resumed && !inherited:
	case f.end != nil: // it is shown as that of an ask that ended on this screen
		if shown := m.form(); len(f.begun()) == 0 || m.editor() != nil || shown != nil && shown.end != nil && shown.touched {
			return nil // the next screen shows it
		}
		m.forms[msg.key], m.inCard = f, !m.wide()
		return m.focusOn(msg.key)
	case msg.key == m.focus && (resumed || m.message == ""):
		m.message = m.say("This is your draft from before: look at it before you send it")
	}
	if m.single() || m.opening && msg.key == m.focus {
		f.grab()
		m.opening = false
	}
	m.forms[msg.key] = f
	return nil
}

// form returns the form of the focused ask, or nil while it is loading.
func (m *model) form() *form { return m.forms[m.focus] }

func (m *model) card(f *form) *card.Card {
	return card.New(&f.rec, m.opts.Viewer, m.opts.Now(), m.others(f.rec.Ask.Key())...)
}

func (m *model) editor() *editor {
	switch {
	case m.overlay.kind == overlayHelp, m.overlay.kind == overlayHandOver && !m.overlay.second:
		return &m.overlay.filter
	case m.overlay.kind == overlayHandOver:
		return &m.overlay.word
	case m.overlay.kind != overlayNone:
		return nil
	case m.finding:
		return &m.filter
	case m.inCard:
		if f := m.form(); f != nil && f.end == nil {
			return f.editor()
		}
	}
	return nil
}

func (m *model) touched() {
	if f := m.form(); f != nil && !m.finding && m.overlay.kind == overlayNone {
		f.touched = f.touched || f.typing != typingFind
		f.field().fault = ""
		if f.typing == typingValue && len(f.question().Options) > 0 && f.question().Kind == ask.KindChoice {
			f.field().other = true
		}
	}
	if m.finding {
		m.group()
	}
}
