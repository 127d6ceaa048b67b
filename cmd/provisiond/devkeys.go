package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/provisiond/provisiond/jobs"
)

// devTenant is the tenant of dev's keys.
const devTenant = "dev"

// devKeys are the API keys that dev prints.
type devKeys struct{ agent, person string }

// devKeysIn is a folder with a file for each of dev's keys, so that the next start prints the same.
type devKeysIn string

// ensure reads the keys, and makes those that are missing or that the database does not know.
func (d devKeysIn) ensure(ctx context.Context, service *jobs.Service, admin *jobs.Admin) (keys devKeys, err error) {
	tenant, err := admin.TenantByName(ctx, devTenant)
	if errors.Is(err, jobs.NotFound) {
		tenant, err = admin.CreateTenant(ctx, devTenant)
	}
	if err != nil {
		return devKeys{}, err
	}
	// Here the agent may read credentials: what it makes is on this machine and for trying out.
	agent := jobs.NewKey{TenantID: tenant.ID, Name: "dev", Kind: jobs.KindAgent, Scopes: jobs.AllScopes()}
	person := jobs.NewKey{TenantID: tenant.ID, Name: "dev", Kind: jobs.KindPerson, Scopes: jobs.AllScopes()}
	if keys.agent, err = d.key(ctx, service, admin, agent); err != nil {
		return devKeys{}, err
	}
	if keys.person, err = d.key(ctx, service, admin, person); err != nil {
		return devKeys{}, err
	}
	return keys, nil
}

func (d devKeysIn) key(ctx context.Context, service *jobs.Service, admin *jobs.Admin, wanted jobs.NewKey) (string, error) {
	path := filepath.Join(string(d), string(wanted.Kind)+".key")
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read API key: %w", err)
	}
	if key := strings.TrimSpace(string(data)); key != "" {
		_, err := service.Authenticate(ctx, key)
		if err == nil || !errors.Is(err, jobs.Unauthenticated) {
			return key, err
		}
	}
	_, key, err := admin.CreateKey(ctx, wanted)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep API key: %w", err)
	}
	return key, nil
}

// devSealer reads dev's keyset, and makes it at the first start.
func devSealer(path string) (*jobs.Sealer, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createKeyset(path); err != nil {
			return nil, err
		}
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read keyset: %w", err)
	}
	return jobs.ReadKeyset(data)
}
