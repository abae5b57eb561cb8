package main

import "time"

const (
	asking    = 0 // the upper pane
	answering = 1 // the lower pane

	keystroke = 70 * time.Millisecond
	beat      = 500 * time.Millisecond
)

// play runs the scene.
func play(s *set, f *film) error {
	show := func(key string, hold time.Duration) error {
		image, err := s.stage.frame(&s.terminal, key)
		if err == nil {
			f.add(image, hold)
		}
		return err
	}
	steps := []func() error{
		func() error { return s.terminal.wait(answering, "0 waiting") },
		func() error { return s.stage.click("Not now") }, // the offer to notify
		func() error { return show("", 2*beat) },
	}
	for _, part := range pieces("askbus ask --file ask.json", 3) {
		steps = append(steps,
			func() error { return s.terminal.typed(asking, part) },
			func() error { return show("", keystroke) })
	}
	steps = append(steps,
		func() error { return s.terminal.press(asking, "Enter") },
		func() error { return s.terminal.wait(asking, "waiting for a human") },
		func() error { return s.terminal.wait(answering, "1 waiting") },
		func() error { return s.stage.wait("Which database") },
		func() error { return show("", 5*beat) },
		func() error { return s.terminal.press(answering, "Enter") },
		func() error { return s.terminal.wait(answering, "›1 ( )") },
		func() error { return show("⏎", 6*beat) },
		func() error { return s.terminal.press(answering, "1") },
		func() error { return s.terminal.wait(answering, "›1 (•)") },
		func() error { return show("1", 2*beat) },
		func() error { return s.terminal.press(answering, "Enter") },
		func() error { return s.terminal.wait(answering, "✓ You chose PostgreSQL") },
		func() error { return s.terminal.wait(asking, "Mei chose PostgreSQL") },
		func() error { return s.stage.wait("You chose PostgreSQL") },
		func() error { return show("⏎", 4*beat) },
		func() error { return show("", 8*beat) },
	)
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// pieces splits a text into pieces of n characters.
func pieces(text string, n int) (parts []string) {
	for len(text) > n {
		parts, text = append(parts, text[:n]), text[n:]
	}
	return append(parts, text)
}
