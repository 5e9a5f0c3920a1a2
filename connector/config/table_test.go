package config

import (
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

func TestKeyTable(t *testing.T) {
	type part struct {
		Wait time.Duration `yaml:"wait" doc:"how long"`
	}
	type conf struct {
		part `yaml:",inline"`
		Mode string           `yaml:"mode" enum:"a,b" doc:"a|b"`
		Key  connector.Secret `yaml:"key" doc:"hidden"`
		N    int              `yaml:"n" doc:"count"`
		On   bool             `yaml:"on" doc:"switch"`
		Max  int64            `yaml:"max" format:"size" doc:"bytes"`
		Root string           `yaml:"root" required:"true" doc:"folder"`
		All  []string         `yaml:"all" doc:"globs"`
	}
	got := KeyTable(&conf{part: part{time.Minute}, Mode: "a", Key: "x", N: 3, Max: 64 << 20, All: []string{"**/*", "a"}})
	want := "| key | type | default | meaning |\n|---|---|---|---|\n" +
		"| `wait` | duration | `1m` | how long |\n| `mode` | `a`, `b` | `a` | a\\|b |\n| `key` | secret |  | hidden |\n| `n` | number | `3` | count |\n| `on` | `true`, `false` | `false` | switch |\n" +
		"| `max` | size | `64MiB` | bytes |\n| `root` | string | required | folder |\n| `all` | list | `[\"**/*\" \"a\"]` | globs |\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
