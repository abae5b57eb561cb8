package main

import "testing"

func TestMarkup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ captured, want string }{
		"text stays text":              {"a <b> & c", "a &lt;b&gt; &amp; c"},
		"a colour ends at a reset":     {"\x1b[31mred\x1b[0m plain", `<span style="color:#f07178">red</span> plain`},
		"no number resets":             {"\x1b[1mbold\x1b[m plain", `<span style="font-weight:700">bold</span> plain`},
		"24 bits":                      {"\x1b[38;2;1;2;255mx", `<span style="color:#0102ff">x</span>`},
		"one of 256, as a background":  {"\x1b[48;5;232mx", `<span style="background:#080808">x</span>`},
		"other sequences are left out": {"\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\\x1b[2K", "link"},
		"reverse swaps the defaults":   {"\x1b[7mx\x1b[27my", `<span style="color:#16181d;background:#d7dae0">x</span>y`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := markup(c.captured); got != c.want {
				t.Errorf("markup(%q) = %s, want %s", c.captured, got, c.want)
			}
		})
	}
}
