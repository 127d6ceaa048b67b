//go:build interop

package e2e_test

import (
	_ "embed"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"text/template"
)

//go:embed nginx.conf.tmpl
var nginxConf string

// nginx is a real balancer before the upstreams.
type nginx struct {
	url string
	log string // file with a line for each request, which ends in the upstream's address
}

// startNginx returns when it listens. The upstreams are addresses that must not change.
func startNginx(t *testing.T, upstreams ...string) *nginx {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx" // off the PATH of a normal user
	}
	dir, listen := t.TempDir(), freeAddress(t)
	conf, err := os.Create(filepath.Join(dir, "nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	data := struct {
		Dir, Listen string
		Upstreams   []string
	}{dir, listen, upstreams}
	if err := template.Must(template.New("").Parse(nginxConf)).Execute(conf, data); err != nil {
		t.Fatal(err)
	}
	if err := conf.Close(); err != nil {
		t.Fatal(err)
	}
	launchCommand(t, "nginx", exec.Command(program, "-e", "stderr", "-p", dir, "-c", conf.Name()))
	eventually(t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", listen)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return &nginx{url: "http://" + listen, log: filepath.Join(dir, "access.log")}
}
