package sandbox

import (
	"context"
	"crypto/rand"
	"net/url"

	"github.com/provisiond/provisiond/provider"
)

// Bind implements provider.Driver. The credentials open nothing; a repeated call gives another password.
func (d *driver) Bind(ctx context.Context, r *provider.Request) (provider.Credentials, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	exists, err := d.backend.find(ctx, r.InstanceID, instanceName(r))
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, notThere()
	}
	if err := d.makeCredential(ctx, r); err != nil {
		return nil, err
	}
	username, password := credentialName(r.BindingID), rand.Text()
	uri := url.URL{Scheme: "sandbox", User: url.UserPassword(username, password), Host: host(r), Path: "/"}
	return provider.Credentials{
		"uri": uri.String(), "username": username, "password": password, "simulated": "true",
	}, nil
}

func notThere() *provider.Error {
	return &provider.Error{Code: provider.ErrRejected, Message: "The instance does not exist in the sandbox."}
}

// makeCredential makes the object, unless an earlier call did.
func (d *driver) makeCredential(ctx context.Context, r *provider.Request) error {
	exists, err := d.backend.find(ctx, r.InstanceID, credentialName(r.BindingID))
	if err != nil || exists {
		return err
	}
	s, err := readState(r)
	if err != nil {
		return err
	}
	if err := s.save(ctx, r); err != nil {
		return err
	}
	return d.backend.make(ctx, r.InstanceID, kindCredential, credentialName(r.BindingID), "")
}
