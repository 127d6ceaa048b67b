package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/internal/pgtest"
	"github.com/provisiond/provisiond/jobs"
)

// What comes before the keys.
const (
	agentLine  = "agent's key:"
	personLine = "person's key:"
)

// lastLine of what dev prints when all is ready to be used.
const lastLine = "Ctrl-C ends provisiond"

// startDev runs dev in the folder, on free ports.
func startDev(t *testing.T, folder string) (s *started, printed string) {
	t.Helper()
	s = start(t, nil, "dev", "--data", folder, "--listen=127.0.0.1:0", "--postgres-port=0")
	return s, s.await(t, &s.stdout, lastLine)
}

// devFolder is a folder that the server's own user can enter.
func devFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// One test for all of dev, since making a database takes seconds.
func TestDev(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	first, printed := startDev(t, folder)
	checkSession(t, printed)
	checkSecrets(t, folder)
	if strings.Contains(first.stderr.String(), keyIn(printed, agentLine)) {
		t.Error("the log shows the agent's key")
	}
	address := strings.TrimPrefix(strings.Fields(printed)[3], "http://")
	runCommand(t, nil, "dev", "--listen", address).expect(t, exitFailed, fmt.Sprintf(
		"provisiond: --listen (PROVISIOND_LISTEN): listen tcp %s: bind: address already in use", address))
	if code := first.end(); code != exitDone {
		t.Errorf("a signal ended it with %d: %s", code, first.stderr.String())
	}
	if _, err := os.Stat(filepath.Join(folder, "postgresql", "postmaster.pid")); !os.IsNotExist(err) {
		t.Errorf("the server was not stopped: %v", err)
	}

	_, again := startDev(t, folder)
	for _, line := range []string{agentLine, personLine} {
		if keyIn(again, line) != keyIn(printed, line) || keyIn(again, line) == "" {
			t.Errorf("the second start prints another %s", line)
		}
	}
}

// checkSession runs the session as it is printed, and README.md's that goes on with it: each newcomer pastes
// them.
func checkSession(t *testing.T, printed string) {
	t.Helper()
	wants := []string{
		`"state":"awaiting_input"`, `"state":"answered"`, `"state":"succeeded"`, `"uri":"postgresql://prov_u_`,
		`"labels":{"team":"shop"}`, `"amount":"5.00"`, `"plan":"standard"`, `"operation":"update"`, `"operation":"rotate"`,
		`"checked_at":`, `"findings":[]`, `"name":"confirm_destroy"`,
	}
	if _, err := exec.LookPath("psql"); err == nil {
		wants = append(wants, "current_database")
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", sessionIn(t, printed)+"\n"+lifeInReadme(t)).CombinedOutput()
	for _, want := range wants {
		if !strings.Contains(string(out), want) {
			t.Errorf("the session does not show %s", want)
		}
	}
	if err != nil || strings.Contains(string(out), `"request_id"`) {
		t.Errorf("the session ends with %v or shows a problem", err)
	}
	if t.Failed() {
		t.Logf("session:\n%s", out)
	}
}

// lifeInReadme is README.md's session on the life of the instance.
func lifeInReadme(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(readme), "\nINSTANCE=")
	life, _, ends := strings.Cut(rest, "```")
	if !begins || !ends {
		t.Fatal("README.md has no session on the life of an instance")
	}
	return "INSTANCE=" + life
}

// checkSecrets checks that what is secret is its owner's alone.
func checkSecrets(t *testing.T, folder string) {
	t.Helper()
	for _, name := range []string{"agent.key", "person.key", "keyset.json"} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", name, mode)
		}
	}
}

func TestReadmeHasTheSession(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(session, "\napi()") // the lines before say where and with which key
	if !strings.Contains(string(readme), "\napi()"+body) {
		t.Error("README.md shows another session than session.sh")
	}
}

func TestDevMakesNewKeysForANewDatabase(t *testing.T) {
	t.Parallel()
	folder := devKeysIn(t.TempDir())
	var made [2]devKeys
	for i := range made {
		url := pgtest.URL(t)
		pool, err := databaseOptions{DatabaseURL: url}.pool()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		if made[i], err = folder.ensure(t.Context(), serviceOn(t, url), jobs.NewAdmin(pool)); err != nil {
			t.Fatal(err)
		}
	}
	if made[0].agent == made[1].agent || made[0].person == made[1].person {
		t.Error("dev prints a key that the database does not know")
	}
}

func TestPostgresFolder(t *testing.T) {
	t.Parallel()
	open, closed := devFolder(t), t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := postgresFolder(open)
	if want := filepath.Join(open, "postgresql"); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	got, err = postgresFolder(closed)
	within := strings.HasPrefix(got, closed)
	if root := os.Geteuid() == 0; err != nil || within == root {
		t.Errorf("got %s, %v for a folder that only its owner may enter", got, err)
	}
}

// sessionIn is the part of the welcome that is to be pasted.
func sessionIn(t *testing.T, printed string) string {
	t.Helper()
	_, rest, found := strings.Cut(printed, "\nURL=")
	session, _, ends := strings.Cut("URL="+rest, lastLine)
	if !found || !ends {
		t.Fatalf("no session in %s", printed)
	}
	return session
}

// keyIn is the last word of the line with the text.
func keyIn(printed, text string) string {
	_, rest, _ := strings.Cut(printed, text)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
