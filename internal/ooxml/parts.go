package ooxml

import (
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/internal/blocks"
	"github.com/kbsync/kbsync/internal/xmlscan"

	"github.com/kbsync/kbsync/connector"
)

// Chart is what a chart part shows, as it was stored with it: its title, and a table of its series by category. It has no blocks if the part
// holds no text, or cannot be read.
func (d *Document) Chart(part string) []blocks.Block {
	c := chart{}
	if err := d.Scan(part, c.read); err != nil {
		return nil
	}
	var out []blocks.Block
	if len(c.series) > 0 {
		if t := c.table(); t != nil {
			return append(out, blocks.Block{Kind: connector.KindTable, Table: t})
		}
	}
	if title := strings.TrimSpace(c.title); title != "" {
		out = append(out, blocks.Block{Kind: connector.KindText, Text: title})
	}
	return out
}

// maxPoints bounds the cells of a chart's table.
const maxPoints = 100_000

// chart is what is read of a chart.
type chart struct {
	title  string
	series []series
}

// series is one row of numbers.
type series struct {
	name       string
	categories map[int]string
	values     map[int]string
	last       int // the largest index
}

func (c *chart) read(s *xmlscan.Scanner) error {
	for depth := s.Depth(); s.Depth() >= depth; {
		k, err := s.Next()
		if err != nil {
			return err
		}
		if k != xmlscan.Start {
			continue
		}
		switch string(s.Name()) {
		case "title":
			text, err := runs(s)
			if err != nil {
				return err
			}
			if c.title == "" {
				c.title = text
			}
		case "ser":
			one := series{categories: map[int]string{}, values: map[int]string{}, last: -1}
			if err := one.read(s); err != nil {
				return err
			}
			c.series = append(c.series, one)
		}
	}
	return nil
}

// runs is the text of the a:t elements inside of the current element.
func runs(s *xmlscan.Scanner) (string, error) {
	var b strings.Builder
	in := false
	for depth := s.Depth(); s.Depth() >= depth; {
		k, err := s.Next()
		if err != nil {
			return "", err
		}
		name := string(s.Name())
		switch {
		case k == xmlscan.Text && in:
			b.Write(s.Text())
		case k != xmlscan.Text && (name == "t" || name == "v"):
			in = k == xmlscan.Start
		case k == xmlscan.End && name == "p":
			b.WriteByte(' ')
		}
	}
	return strings.TrimSpace(b.String()), nil
}

func (one *series) read(s *xmlscan.Scanner) error {
	return Each(s, func(name []byte) error {
		switch string(name) {
		case "tx":
			text, err := runs(s)
			one.name = text
			return err
		case "cat", "xVal":
			return one.points(s, one.categories)
		case "val", "yVal":
			return one.points(s, one.values)
		}
		return nil
	})
}

// points reads the cached values of a reference.
func (one *series) points(s *xmlscan.Scanner, into map[int]string) error {
	index := -1
	in := false
	for depth := s.Depth(); s.Depth() >= depth; {
		k, err := s.Next()
		if err != nil {
			return err
		}
		name := string(s.Name())
		switch {
		case k == xmlscan.Start && name == "pt":
			index = s.Int("idx", -1)
		case k != xmlscan.Text && name == "v":
			in = k == xmlscan.Start
		case k == xmlscan.Text && in && index >= 0 && index < maxPoints:
			into[index] += string(s.Text())
			one.last = max(one.last, index)
		}
	}
	return nil
}

// table has a row for each category and a column for each series; nil if there are no values.
func (c *chart) table() *blocks.Table {
	rows := 0
	for _, one := range c.series {
		rows = max(rows, one.last+1)
	}
	if rows == 0 || rows*(len(c.series)+1) > maxPoints {
		return nil
	}
	t := &blocks.Table{Caption: c.title}
	cell := func(text string) blocks.Cell {
		return blocks.Cell{Across: 1, Blocks: []blocks.Block{{Kind: connector.KindText, Text: text}}}
	}
	head := blocks.Row{Head: true, Cells: []blocks.Cell{cell("")}}
	for _, one := range c.series {
		head.Cells = append(head.Cells, cell(one.name))
	}
	t.Rows = append(t.Rows, head)
	for i := range rows {
		category := ""
		for _, one := range c.series {
			if category == "" {
				category = one.categories[i]
			}
		}
		row := blocks.Row{Cells: []blocks.Cell{cell(category)}}
		for _, one := range c.series {
			row.Cells = append(row.Cells, cell(shown(one.values[i])))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// shown is a number as people write it: the last digits of a binary fraction are left out.
func shown(value string) string {
	if len(value) < 16 {
		return value
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	return strconv.FormatFloat(f, 'g', 15, 64)
}

// Diagram is the text of the points of a SmartArt diagram's data part, as a list; empty if there is none, or the part cannot be read. list is
// the number of the list.
func (d *Document) Diagram(part string, list int) []blocks.Block {
	var out []blocks.Block
	_ = d.Scan(part, func(s *xmlscan.Scanner) error {
		for depth := s.Depth(); s.Depth() >= depth; {
			k, err := s.Next()
			if err != nil {
				return err
			}
			if k != xmlscan.Start || string(s.Name()) != "pt" {
				continue
			}
			if kind := s.String("type"); kind != "" && kind != "node" && kind != "asst" {
				if err := s.Skip(); err != nil {
					return err
				}
				continue
			}
			text, err := runs(s)
			if err != nil {
				return err
			}
			if text != "" {
				out = append(out, blocks.Block{Kind: connector.KindItem, Level: 1, List: list, Marker: "-", Text: text})
			}
		}
		return nil
	})
	return out
}
