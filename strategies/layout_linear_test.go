package strategies

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/strategytest"
	"github.com/kbsync/kbsync/parsers/delimited"
	"github.com/kbsync/kbsync/parsers/jsondoc"
)

// worked counts the bytes that are counted, by themselves or as ranges of a text.
type worked struct {
	connector.Counter
	bytes *int
}

func (c worked) Count(text string) int {
	*c.bytes += len(text)
	return c.Counter.Count(text)
}

func (c worked) Ruler(text string) connector.Ruler {
	*c.bytes += len(text)
	return workedRuler{c.Counter.Ruler(text), c.bytes}
}

// workedRuler hides whatever else a ruler can do, so that all is counted.
type workedRuler struct {
	connector.Ruler
	bytes *int
}

func (r workedRuler) Count(i, j int) int {
	*r.bytes += j - i
	return r.Ruler.Count(i, j)
}

// TestTablesAndLayoutAreLinear: four times the text costs about four times the work and makes about four times the chunks, whatever
// stands in it.
func TestTablesAndLayoutAreLinear(t *testing.T) {
	csv := func(text string) []connector.Element { return parsedBy(t, delimited.Plugin(), "x.csv", text) }
	repeat := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	var tables, layouts []func(n int) []connector.Element
	for _, build := range []func(n int) string{
		func(n int) string { return "id,text\n" + repeat("1,some words of a row\n", n) },
		func(n int) string { return "id," + repeat("name,", n) + "\n1," + repeat("value,", n) + "\n" },
		func(n int) string { return "id," + repeat("a long name of a column ", 180) + "\n" + repeat("7,8\n", n) },
		func(n int) string { return "id,text\n1," + repeat("a long cell ", n) + "\n" },
		func(n int) string { return "id,text\n1," + repeat("cell", n) + "\n" },
		func(n int) string { return repeat(",,,\n", n) + "1,2,3,4\n" },
	} {
		tables = append(tables, func(n int) []connector.Element { return csv(build(n)) })
	}
	tables = append(tables, func(n int) []connector.Element {
		return parsedBy(t, jsondoc.LinesPlugin(), "x.jsonl", repeat("{\"a\": 1, \"b\": \"x\"}\n{\"c\": 2}\n", n))
	})
	for _, line := range []string{
		"1 heading1 Title\n", "1 heading1 A\n1 text B\n", "1 text Figure 1: what is shown\n1 image [x]\n", "1 text Table 1. t\n1 table a|b" + strings.Repeat(`\n1|some words`, 12) + "\n",
		"1 item - one item\n", "1 text Some words of a sentence. And others.\n", "1 heading2 T\n1 table a|b" + strings.Repeat(`\n1|some words`, 12) + "\n2 text " + strings.Repeat("Words. ", 40) + "\n",
	} {
		layouts = append(layouts, func(n int) []connector.Element { return laidOut("1 heading1 First\n" + repeat(line, n)) })
	}
	work := func(plugin connector.StrategyPlugin, config any, els []connector.Element) (bytes, chunks int) {
		e := env(t)
		inner := e.Counter
		e.Counter = func(name string) (connector.Counter, error) {
			c, err := inner(name)
			return worked{c, &bytes}, err
		}
		s, err := plugin.Open(t.Context(), config, e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := strategytest.Collect(s, strategytest.Input{Elements: els})
		if err != nil {
			t.Fatal(err)
		}
		return bytes, len(got)
	}
	check := func(name string, plugin connector.StrategyPlugin, config any, build func(int) []connector.Element) {
		b1, c1 := work(plugin, config, build(10_000))
		b4, c4 := work(plugin, config, build(40_000))
		if b4 > 6*b1+100_000 || c4 > 6*c1+8 {
			t.Errorf("%s: the work grows from %d to %d, the chunks from %d to %d", name, b1, b4, c1, c4)
		}
	}
	for i, build := range tables {
		for _, mode := range tableModes {
			c := tableDefaults()
			c.Mode, c.MaxTokens = mode, 100
			check("table "+mode+" "+sprint(i), Table(), &c, build)
		}
	}
	for i, build := range layouts {
		c := layoutDefaults()
		c.MaxTokens, c.NewAfter = 100, Amount{N: 80, Percent: true}
		check("layout "+sprint(i), Layout(), &c, build)
	}
}
