package tell

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// Summary prints a table of the steps with their times and what they measured.
func (p *Page) Summary(told []Told) {
	rows, total := summary(told)
	rows = append(rows, row{what: "together", took: Duration(total)})
	what, took := 0, 0
	for _, r := range rows {
		what = max(what, utf8.RuneCountInString(r.what))
		took = max(took, utf8.RuneCountInString(r.took))
	}
	p.Line("")
	for _, r := range rows {
		style := ""
		switch {
		case r.failed:
			style = red
		case r.number == "":
			style = faint
		}
		p.print("", style, pad(r.number, 3, true)+"  "+pad(r.what, what, false)+"  "+pad(r.took, took, true))
	}
}

type row struct {
	number, what, took string
	failed             bool
}

func summary(told []Told) (rows []row, total time.Duration) {
	for i, one := range told {
		title := one.Title
		if one.Failed {
			title += " (failed)"
		}
		rows = append(rows, row{number: strconv.Itoa(i + 1), what: title, took: Duration(one.Took), failed: one.Failed})
		for _, fact := range one.Facts {
			rows = append(rows, row{what: "  " + fact.What, took: Duration(fact.Took)})
		}
		total += one.Took
	}
	return rows, total
}

// pad fills a text up to a width that is counted in characters.
func pad(text string, width int, left bool) string {
	for utf8.RuneCountInString(text) < width {
		if left {
			text = " " + text
		} else {
			text += " "
		}
	}
	return text
}
