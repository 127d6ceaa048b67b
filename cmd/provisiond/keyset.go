package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/provisiond/provisiond/jobs"
)

// keysetOption names the file with the keys that secrets are encrypted with.
type keysetOption struct {
	KeysetFile string `placeholder:"FILE" help:"Keyset that secrets in the database are encrypted with; keyset create makes one."`
}

func (o keysetOption) check(_ lookup, found *problems) {
	if o.KeysetFile == "" {
		found.add("keyset-file", "is required")
	}
}

// readSealer reads the keyset. It notes what is wrong with it, and returns nil then.
func (o keysetOption) readSealer(found *problems) *jobs.Sealer {
	if o.KeysetFile == "" {
		found.add("keyset-file", "is required")
		return nil
	}
	data, err := os.ReadFile(o.KeysetFile)
	if err != nil {
		found.add("keyset-file", "must be a file that can be read: "+err.Error())
		return nil
	}
	sealer, err := jobs.ReadKeyset(data)
	if err != nil {
		found.add("keyset-file", "must be a keyset: "+err.Error())
		return nil
	}
	return sealer
}

type keysetCreateCmd struct{ keysetOption }

func (c *keysetCreateCmd) run(context.Context, *process) error { return createKeyset(c.KeysetFile) }

// createKeyset refuses to replace a file: without the old keys all secrets would be lost.
func createKeyset(path string) error {
	keyset, err := jobs.CreateKeyset()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make keyset file: %w", err)
	}
	return writeAndClose(file, keyset)
}

type keysetRotateCmd struct{ keysetOption }

func (c *keysetRotateCmd) run(_ context.Context, p *process) error {
	id, err := c.replace(jobs.RotateKeyset)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "Added key %d, which decrypts only. Give the file to every replica and restart them all, "+
		"then run: provisiond keyset promote\n", id)
	return err
}

type keysetPromoteCmd struct{ keysetOption }

func (c *keysetPromoteCmd) run(_ context.Context, p *process) error {
	id, err := c.replace(jobs.PromoteKeyset)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "Key %d encrypts now. Give the file to every replica and restart them all.\n", id)
	return err
}

// replace changes the file in one step, so that a replica that starts just now reads a whole one. It
// tells the ID of the key that the change is about.
func (o keysetOption) replace(change func([]byte) ([]byte, uint32, error)) (uint32, error) {
	old, err := os.ReadFile(o.KeysetFile)
	if err != nil {
		return 0, fmt.Errorf("read keyset file: %w", err)
	}
	keyset, id, err := change(old)
	if err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(filepath.Dir(o.KeysetFile), ".keyset-*") // of mode 0600
	if err != nil {
		return 0, fmt.Errorf("make new keyset file: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // gone already when all went well
	if err := writeAndClose(file, keyset); err != nil {
		return 0, err
	}
	if err := os.Rename(file.Name(), o.KeysetFile); err != nil {
		return 0, fmt.Errorf("replace keyset file: %w", err)
	}
	return id, nil
}

// writeAndClose returns when the disk has the data.
func writeAndClose(file *os.File, data []byte) error {
	defer file.Close() //nolint:errcheck // a second Close says so, which does not matter
	if _, err := file.Write(data); err != nil {
		return fmt.Errorf("write %s: %w", file.Name(), err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", file.Name(), err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write %s: %w", file.Name(), err)
	}
	return nil
}
