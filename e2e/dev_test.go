package e2e_test

import (
	"os"
	"os/exec"
	"os/user"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestDevFromTheFirstStartToTheSecond(t *testing.T) {
	t.Parallel()
	users := map[string]*syscall.Credential{"this user": nil}
	if nobody, err := user.Lookup("nobody"); err == nil && os.Geteuid() == 0 {
		users["nobody"] = credentialOf(t, nobody)
	}
	for name, credential := range users {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := openFolder(t)
			if credential != nil {
				if err := os.Chown(dir, int(credential.Uid), int(credential.Gid)); err != nil {
					t.Fatal(err)
				}
			}
			first := startDev(t, dir, credential)
			uri := first.runSession(t)
			queryDatabase(t, uri, `CREATE TABLE kept (); SELECT`)
			first.interrupt(t)

			second := startDev(t, dir, credential)
			if first.agent != second.agent || first.person != second.person {
				t.Error("the second start prints other keys")
			}
			queryDatabase(t, uri, `SELECT FROM kept`)
			second.interrupt(t)
		})
	}
}

func credentialOf(t *testing.T, u *user.User) *syscall.Credential {
	t.Helper()
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// dev is a provisiond dev that has printed its welcome.
type dev struct {
	*process

	dir, session, agent, person string
}

func startDev(t *testing.T, dir string, credential *syscall.Credential) *dev {
	t.Helper()
	_, port, _ := strings.Cut(freeAddress(t), ":")
	cmd := exec.Command(binary, "dev", "--listen", "127.0.0.1:0", "--postgres-port", devPort(t, dir, port))
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GORACE=halt_on_error=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	d := &dev{process: launchCommand(t, "dev", cmd), dir: dir}
	// Killed at once it would leave its PostgreSQL behind.
	t.Cleanup(func() {
		d.signal(syscall.SIGTERM)
		select {
		case <-d.done:
		case <-time.After(patience):
		}
	})
	d.line(t, "Ctrl-C ends provisiond")
	text := d.out.String()
	_, session, _ := strings.Cut(text, "to make a database:")
	d.session, _, _ = strings.Cut(session, "Ctrl-C ends provisiond")
	d.agent, d.person = match(t, text, `agent's key: +(\S+)`), match(t, text, `person's key: +(\S+)`)
	return d
}

// devPort is the port of dev's PostgreSQL: the same at each start in a folder, so that credentials last.
func devPort(t *testing.T, dir, fresh string) string {
	t.Helper()
	path := dir + "/port"
	if port, err := os.ReadFile(path); err == nil {
		return string(port)
	}
	if err := os.WriteFile(path, []byte(fresh), 0o600); err != nil {
		t.Fatal(err)
	}
	return fresh
}

func match(t *testing.T, text, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("nothing matches %s in:\n%s", pattern, text)
	}
	return found[1]
}

// runSession pastes what dev printed into a shell and returns the URI of the database that it made.
func (d *dev) runSession(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(patient(t), "sh")
	cmd.Stdin = strings.NewReader(d.session)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("session: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), `"awaiting_input"`) || !strings.Contains(string(out), `"succeeded"`) {
		t.Errorf("the session does not show a question and a success:\n%s", out)
	}
	return match(t, string(out), `"uri": *"([^"]+)"`)
}

func queryDatabase(t *testing.T, uri, sql string) {
	t.Helper()
	ctx := patient(t)
	conn, err := pgx.Connect(ctx, uri)
	if err != nil {
		t.Fatalf("log in: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Errorf("%s: %v", sql, err)
	}
}

// interrupt is Ctrl-C. The terminal sends it to the whole group.
func (d *dev) interrupt(t *testing.T) {
	t.Helper()
	d.signal(syscall.SIGINT)
	d.await(t)
	if d.err != nil {
		t.Errorf("dev after Ctrl-C: %v", d.err)
	}
	if d.groupAlive() {
		t.Error("a process is left in dev's group")
	}
	if left, _ := exec.Command("pgrep", "-f", d.dir).Output(); len(left) > 0 {
		t.Errorf("processes of %s are left: %s", d.dir, left)
	}
}
