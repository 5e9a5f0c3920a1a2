package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector/config"
)

// deployed is a program's call in what kbsync is deployed with, and the files that it would find where it looks for them.
type deployed struct {
	args  []string
	files map[string]string // by the path inside the container
}

// TestDeployKubernetes parses the command line and the configuration of every manifest as the program in the pod would.
func TestDeployKubernetes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(repository, "deploy", "kubernetes", "*.yaml"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("found %v: %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			d := deployed{files: map[string]string{}}
			for _, doc := range documents(t, path) {
				switch doc["kind"] {
				case "ConfigMap":
					for name, text := range doc["data"].(map[string]any) {
						d.files["/etc/kbsync/"+name] = text.(string)
					}
				case "CronJob", "Deployment":
					containers := below(doc, "containers").([]any)
					for _, arg := range containers[0].(map[string]any)["args"].([]any) {
						d.args = append(d.args, arg.(string))
					}
				}
			}
			d.check(t)
		})
	}
}

// TestDeployCompose does so for every service of kbsync in the compose file.
func TestDeployCompose(t *testing.T) {
	files := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(repository, "deploy", "compose", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files["/etc/kbsync/"+filepath.Base(path)] = string(text)
	}
	var file struct {
		Services map[string]struct {
			Command []string
		}
	}
	text, err := os.ReadFile(filepath.Join(repository, "compose.yaml"))
	if err := errors.Join(err, yaml.Unmarshal(text, &file)); err != nil {
		t.Fatal(err)
	}
	sinks, states := map[string]bool{}, map[string]bool{}
	for name, s := range file.Services {
		if !strings.HasPrefix(name, "kbsync-") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f := deployed{s.Command, files}.check(t)
			sinks[f.Sink.Kind] = true
			if states[f.State] {
				t.Errorf("the ledger %s is another service's too", f.State)
			}
			states[f.State] = true
		})
	}
	for _, kind := range registry(t).Sinks.Kinds() {
		if !sinks[kind] {
			t.Errorf("no service of compose.yaml writes to %s", kind)
		}
	}
}

// TestDeploySystemd does so for the units.
func TestDeploySystemd(t *testing.T) {
	example, err := os.ReadFile(filepath.Join(repository, "deploy", "systemd", "kbsync.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{"kbsync.service", "kbsync-serve.service"} {
		t.Run(unit, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(repository, "deploy", "systemd", unit))
			if err != nil {
				t.Fatal(err)
			}
			_, call, found := strings.Cut(string(text), "\nExecStart=/usr/local/bin/kbsync ")
			if !found {
				t.Fatal("no ExecStart")
			}
			call, _, _ = strings.Cut(call, "\n")
			deployed{strings.Fields(call), map[string]string{"/etc/kbsync/kbsync.yaml": string(example)}}.check(t)
		})
	}
}

// TestDeployImage compares the Dockerfile with what the program says of itself.
func TestDeployImage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(defaultListen, ":")
	if !strings.Contains(string(text), "\nEXPOSE "+port+"\n") {
		t.Errorf("the Dockerfile does not expose the port of serve, %s", port)
	}
	_, cmd, _ := strings.Cut(string(text), "\nCMD ")
	var args []string
	if err := yaml.Unmarshal([]byte(cmd), &args); err != nil {
		t.Fatal(err)
	}
	commandLine(t, args)
}

// check parses the call and its configurations. All state must lie where it outlives the container, and a service needs a schedule.
func (d deployed) check(t *testing.T) *config.File {
	t.Helper()
	command, named := commandLine(t, d.args)
	if len(named) == 0 {
		t.Fatalf("%v names no configuration", d.args)
	}
	dir := t.TempDir()
	var paths []string
	for _, name := range named {
		text, ok := d.files[name]
		if !ok {
			t.Fatalf("%v: there is no %s", d.args, name)
		}
		paths = append(paths, filepath.Join(dir, filepath.Base(name)))
		if err := os.WriteFile(paths[len(paths)-1], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := config.Load(paths, registry(t), config.Options{Getenv: anyValue})
	if err != nil {
		t.Fatal(err)
	}
	if f.Sink == nil {
		t.Fatal("no sink: the default one lies beside the configuration, where nothing can be written")
	}
	if !strings.HasPrefix(f.State, "/data/") && !strings.HasPrefix(f.State, "/var/lib/kbsync/") {
		t.Errorf("state: %q does not outlive the process", f.State)
	}
	if command == "serve" && f.Sync.Schedule == "" {
		t.Error("serve without sync.schedule")
	}
	return f
}

// commandLine parses a call as the program does, and says which command and which configurations it names.
func commandLine(t *testing.T, args []string) (command string, configs []string) {
	t.Helper()
	root := newRoot(&app{reg: registry(t), color: newChoice("auto", "auto", "always", "never"), out: bufio.NewWriter(io.Discard), err: &console{w: io.Discard}})
	cmd, rest, err := root.Find(args)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if left := cmd.Flags().Args(); len(left) > 0 {
		t.Fatalf("%v: %v are no flags", args, left)
	}
	configs, err = cmd.Flags().GetStringArray("config")
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Name(), configs
}

// documents reads the YAML documents of a file.
func documents(t *testing.T, path string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc map[string]any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, doc)
	}
}

// below returns what stands under a key, at any depth.
func below(node any, key string) any {
	switch node := node.(type) {
	case map[string]any:
		if v, ok := node[key]; ok {
			return v
		}
		for _, child := range node {
			if v := below(child, key); v != nil {
				return v
			}
		}
	case []any:
		for _, child := range node {
			if v := below(child, key); v != nil {
				return v
			}
		}
	}
	return nil
}
