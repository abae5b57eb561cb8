package tui

import (
	"context"
	"fmt"
	"image"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/internal/answering/picture"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Bounds of what a terminal is sent of a file.
const (
	fileText   = 256 << 10 // bytes of a text; the link leads to the rest
	fileWidth  = 1600      // pixels
	fileHeight = 1200
	fileLimit  = 30 * time.Second
	// painted is how long the terminal has to draw the screen before an image is drawn over it.
	painted = 80 * time.Millisecond
)

// graphics is what the terminal says that it can draw.
type graphics struct {
	asked bool
	known bool // it has replied
	kitty bool
	sixel bool
	cell  image.Point // pixels
}

// openFile is the file that the overlay shows.
type openFile struct {
	file  card.File
	data  []byte // of an image
	lines []string
	drawn bool   // there is an image on the screen
	fault string // why it is not shown
}

type (
	fileMsg struct {
		id   string
		data []byte
		err  error
	}
	imageMsg struct {
		id       string
		sequence string
		err      error
	}
	paintMsg imageMsg // the screen below an image is drawn
)

// files returns the files of the ask in focus.
func (m *model) files() []card.File {
	if f := m.form(); f != nil {
		return m.card(f).AllFiles()
	}
	return nil
}

// showFiles opens the overlay with the first file.
func (m *model) showFiles() tea.Cmd {
	if len(m.files()) == 0 {
		m.message = m.say("This ask has no files.")
		return nil
	}
	m.overlay = overlay{kind: overlayFiles, wrap: true}
	return tea.Batch(m.askGraphics(), m.readFile(0))
}

// askGraphics asks the terminal, when it is first needed, because a few terminals show a question that they do not
// know. The last reply is one that every terminal sends.
func (m *model) askGraphics() tea.Cmd {
	const cellSize = 16 // XTWINOPS: report the size of a character in pixels

	if m.graphics.asked {
		return nil
	}
	m.graphics.asked = true
	return tea.Sequence(tea.Raw(picture.KittyQuery+ansi.WindowOp(cellSize)+ansi.RequestPrimaryDeviceAttributes), tea.ClearScreen)
}

// replied takes a reply of the terminal.
func (m *model) replied(msg tea.Msg) tea.Cmd {
	g := &m.graphics
	switch msg := msg.(type) {
	case uv.KittyGraphicsEvent:
		g.kitty = g.asked && string(msg.Payload) == "OK"
	case uv.CellSizeEvent:
		if msg.Width > 0 && msg.Height > 0 && msg.Width <= 100 && msg.Height <= 200 {
			g.cell = image.Pt(msg.Width, msg.Height)
		}
	case uv.PrimaryDeviceAttributesEvent:
		for _, attribute := range msg {
			g.sixel = g.sixel || attribute == 4
		}
		if g.known = true; m.overlay.kind == overlayFiles {
			return m.encode()
		}
	}
	return nil
}

// readFile reads the n-th file, if the overlay can show it.
func (m *model) readFile(n int) tea.Cmd {
	files := m.files()
	if n < 0 || n >= len(files) {
		return nil
	}
	m.overlay.first, m.overlay.top, m.overlay.left = n, 0, 0
	m.file = openFile{file: files[n], drawn: m.file.drawn}
	f := m.file.file
	if m.opts.File == nil || !f.Image && !f.IsText {
		return nil
	}
	s := m.focus.InSession()
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), fileLimit)
		defer cancel()
		_, data, err := m.opts.File(ctx, s, f.ID)
		return fileMsg{f.ID, data, err}
	}
}

// gotFile shows a file that was read.
func (m *model) gotFile(msg fileMsg) tea.Cmd {
	switch f := &m.file; {
	case m.overlay.kind != overlayFiles || f.file.ID != msg.id:
	case msg.err != nil:
		f.fault = ask.CleanLine(msg.err.Error())
	case f.file.Image:
		f.data = msg.data
		return m.encode()
	default:
		text := string(msg.data[:min(len(msg.data), fileText)])
		f.lines = strings.Split(ask.CleanText(strings.ToValidUTF8(text, "")), "\n")
		if len(text) < len(msg.data) {
			f.lines = append(f.lines, "", m.say("… the rest is at the link"))
		}
	}
	return nil
}

// encode makes what the terminal draws of the image, off the screen's loop.
func (m *model) encode() tea.Cmd {
	g, f := m.graphics, &m.file
	if !g.known || !g.kitty && !g.sixel || f.data == nil || f.fault != "" {
		return nil
	}
	cell := g.cell
	if cell == (image.Point{}) {
		cell = image.Pt(8, 16)
	}
	id, data, columns, rows := f.file.ID, f.data, max(1, m.width-1), max(1, m.height-5)
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), fileLimit)
		defer cancel()
		// Sixel moves the cursor in units of 6 pixels, and must not scroll.
		img, err := m.opts.Images.Decode(ctx, data, min(fileWidth, columns*cell.X), min(fileHeight, rows*cell.Y))
		if err != nil {
			return imageMsg{id: id, err: err}
		}
		if !g.kitty {
			return imageMsg{id: id, sequence: picture.Sixel(img)}
		}
		size := img.Bounds().Size()
		sequence, err := picture.Kitty(img, (size.X+cell.X-1)/cell.X, (size.Y+cell.Y-1)/cell.Y)
		return imageMsg{id, sequence, err}
	}
}

// gotImage clears the screen and draws the image when that is done.
func (m *model) gotImage(msg imageMsg) tea.Cmd {
	f := &m.file
	if m.overlay.kind != overlayFiles || f.file.ID != msg.id {
		return nil
	}
	if msg.err != nil {
		f.fault = ask.CleanLine(msg.err.Error())
		return nil
	}
	f.drawn = true
	return tea.Sequence(m.erase(), tea.Tick(painted, func(time.Time) tea.Msg { return paintMsg(msg) }))
}

// paint draws the image below the head of the overlay. The renderer is not told: its cells there stay empty.
func (m *model) paint(msg paintMsg) tea.Cmd {
	if m.overlay.kind != overlayFiles || m.file.file.ID != msg.id {
		return nil
	}
	return tea.Raw(ansi.SaveCursor + ansi.CursorPosition(1, 4) + msg.sequence + ansi.RestoreCursor)
}

// erase removes the image from the screen.
func (m *model) erase() tea.Cmd {
	if m.graphics.kitty {
		return tea.Sequence(tea.Raw(picture.KittyDelete), tea.ClearScreen)
	}
	return tea.ClearScreen
}

// covered erases the image when its overlay is gone, or shows another file.
func (m *model) covered() tea.Cmd {
	if !m.file.drawn || m.overlay.kind == overlayFiles && m.file.data != nil {
		return nil
	}
	if m.file.drawn = false; m.overlay.kind != overlayFiles {
		m.file = openFile{}
	}
	return m.erase()
}

// filesKey handles a key press in the overlay of files.
func (m *model) filesKey(name string) tea.Cmd {
	o, page := &m.overlay, max(1, m.height-5)
	switch act := m.keys.byKey[name]; {
	case name == "esc", act == actQuit, act == actFiles:
		m.overlay = overlay{}
	case act == actBrowser, act == actOther:
		return m.browse()
	case name == "right", name == "space", name == "tab":
		return m.readFile((o.first + 1) % max(1, len(m.files())))
	case name == "left", name == "shift+tab":
		n := max(1, len(m.files()))
		return m.readFile((o.first + n - 1) % n)
	case name == "down", name == "j":
		o.top++
	case name == "up", name == "k":
		o.top = max(0, o.top-1)
	case name == "pgdown":
		o.top += page
	case name == "pgup":
		o.top = max(0, o.top-page)
	}
	return nil
}

// filesView renders the overlay of files.
func (m *model) filesView() []string {
	height := max(1, m.height-3)
	files, f := m.files(), &m.file
	head := m.styles.title.Render(f.file.Name) + m.styles.dim.Render("  "+f.file.Words)
	if len(files) > 1 {
		head += m.styles.dim.Render("  " + fmt.Sprintf("%d/%d", m.overlay.first+1, len(files)))
	}
	link := ""
	if inbox := strings.TrimRight(m.opts.Viewer.Inbox, "/"); inbox != "" {
		link = inbox + f.file.At
	}
	// An image is drawn below this line, and the cells there stay empty.
	lines := []string{m.styles.dim.Render(m.fileWords(link))}
	if f.lines != nil {
		body := strings.Split(ansi.Wrap(strings.ReplaceAll(strings.Join(f.lines, "\n"), "\t", "    "), m.width, ""), "\n")
		m.overlay.top = max(0, min(m.overlay.top, len(body)-height+1))
		lines = append(lines, body[m.overlay.top:min(len(body), m.overlay.top+height-1)]...)
	}
	return m.framed(head, lines, height, m.say("← → other files · j k scroll · O browser · esc back"))
}

// fileWords says where a file is, and why it is not shown here.
func (m *model) fileWords(link string) string {
	f, g := &m.file, &m.graphics
	switch {
	case f.fault != "":
		return strings.TrimSpace(m.say("not shown: %s", f.fault) + "  " + link)
	case f.file.Image && g.known && !g.kitty && !g.sixel:
		return strings.TrimSpace(m.say("This terminal draws no images.") + "  " + link)
	case f.file.Image && !f.drawn, f.file.IsText && f.lines == nil && m.opts.File != nil:
		return strings.TrimSpace(m.say("reading …") + "  " + link)
	}
	return link
}

// drawFiles lists files on a card.
func (m *model) drawFiles(s *sheet, lead string, files []card.File) {
	for i := range files {
		words := files[i].Text(m.opts.Viewer.Lang) + "  "
		if files[i].Image || files[i].IsText {
			words += m.say("%s shows it", m.keys.key(actFiles))
		} else {
			words += m.say("%s has the link", m.keys.key(actFiles))
		}
		s.add(hit{}, m.styles.dim.Render, lead+"▤ ", lead+"  ", words)
	}
}
