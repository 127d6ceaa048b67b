package jobs

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// Sealer encrypts what is secret before it is stored, with the primary key of a Tink keyset
// (AES-256-GCM), and opens it with any of its keys. Safe for concurrent use.
type Sealer struct {
	aead tink.AEAD
}

// ReadKeyset makes a Sealer of a keyset as [CreateKeyset] writes it.
func ReadKeyset(data []byte) (*Sealer, error) {
	handle, err := readHandle(data)
	if err != nil {
		return nil, err
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("keyset: %w", err)
	}
	return &Sealer{primitive}, nil
}

// CreateKeyset makes a keyset of one new key, as JSON in clear: the file's permissions guard it.
func CreateKeyset() ([]byte, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("keyset: %w", err)
	}
	return writeHandle(handle)
}

// RotateKeyset adds a new key to the keyset, and tells its ID. It opens but does not seal yet: a replica
// that has not got it could not open what it sealed. [PromoteKeyset] is the second step, when every
// replica has it. While a key waits for that it is an error: the replicas have that key, and a newer one
// would be promoted in its place.
func RotateKeyset(data []byte) ([]byte, uint32, error) {
	handle, newest, waits, err := newestKey(data)
	if err != nil {
		return nil, 0, err
	}
	if waits {
		return nil, 0, fmt.Errorf("keyset: key %d waits to be promoted; promote it before another rotation", newest)
	}
	manager := keyset.NewManagerFromHandle(handle)
	added, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, 0, fmt.Errorf("keyset: %w", err)
	}
	return writeChanged(manager, added)
}

// PromoteKeyset makes the newest key of the keyset the one that seals, and tells its ID. The old keys
// stay, so that what they have sealed can be opened. It is an error where the newest key seals already.
func PromoteKeyset(data []byte) ([]byte, uint32, error) {
	handle, newest, waits, err := newestKey(data)
	if err != nil {
		return nil, 0, err
	}
	if !waits {
		return nil, 0, fmt.Errorf("keyset: the newest key, %d, encrypts already: there is nothing to promote", newest)
	}
	manager := keyset.NewManagerFromHandle(handle)
	if err := manager.SetPrimary(newest); err != nil {
		return nil, 0, fmt.Errorf("keyset: %w", err)
	}
	return writeChanged(manager, newest)
}

// newestKey tells the ID of a keyset's newest key, and whether that waits to be promoted.
func newestKey(data []byte) (handle *keyset.Handle, id uint32, waits bool, err error) {
	if handle, err = readHandle(data); err != nil {
		return nil, 0, false, err
	}
	newest, err := handle.Entry(handle.Len() - 1)
	if err != nil {
		return nil, 0, false, fmt.Errorf("keyset: %w", err)
	}
	return handle, newest.KeyID(), !newest.IsPrimary(), nil
}

func writeChanged(manager *keyset.Manager, id uint32) ([]byte, uint32, error) {
	handle, err := manager.Handle()
	if err != nil {
		return nil, 0, fmt.Errorf("keyset: %w", err)
	}
	data, err := writeHandle(handle)
	return data, id, err
}

func readHandle(data []byte) (*keyset.Handle, error) {
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(data)))
	if err != nil {
		// Tink's error could quote the file.
		return nil, fmt.Errorf("keyset: the file is not a Tink keyset in JSON; make one with: provisiond keyset create")
	}
	return handle, nil
}

func writeHandle(handle *keyset.Handle) ([]byte, error) {
	var out bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&out)); err != nil {
		return nil, fmt.Errorf("keyset: %w", err)
	}
	return out.Bytes(), nil
}

// A place is where a sealed value stands. It is the associated data of the encryption, so that a
// value copied to another row, column or tenant does not open.
type place struct {
	tenant, table, row, column string
}

func (p place) associatedData() []byte {
	return []byte(p.tenant + "|" + p.table + "|" + p.row + "|" + p.column)
}

// seal encrypts a value, as JSON, for a place.
func (s *Sealer) seal(p place, value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("seal %s.%s: %w", p.table, p.column, err)
	}
	sealed, err := s.aead.Encrypt(plain, p.associatedData())
	if err != nil {
		return nil, fmt.Errorf("seal %s.%s: %w", p.table, p.column, err)
	}
	return sealed, nil
}

// errNoKey: the keyset is another one than that of the replica that sealed the value, or an older one.
var errNoKey = errors.New("no key of the keyset opens it")

// sealMap is seal, but an empty map is nil.
func (s *Sealer) sealMap(p place, values map[string]any) ([]byte, error) {
	if len(values) == 0 {
		return nil, nil
	}
	return s.seal(p, values)
}

// open decrypts what seal made for the same place. Sealed nil leaves the value as it is.
func (s *Sealer) open(p place, sealed []byte, value any) error {
	if sealed == nil {
		return nil
	}
	plain, err := s.aead.Decrypt(sealed, p.associatedData())
	if err != nil {
		return fmt.Errorf("%w: %s.%s of %s", errNoKey, p.table, p.column, p.row)
	}
	if err := json.Unmarshal(plain, value); err != nil {
		return fmt.Errorf("open %s.%s of %s: it does not hold what it should", p.table, p.column, p.row)
	}
	return nil
}

// sealDigest seals a digest of the value, for sameDigest. A bare hash in the database would let its
// readers guess a short secret in the value.
func (s *Sealer) sealDigest(p place, value any) ([]byte, error) {
	digest, err := digestOf(value)
	if err != nil {
		return nil, err
	}
	return s.seal(p, digest)
}

// sameDigest reports whether sealed was made by sealDigest of an equal value.
func (s *Sealer) sameDigest(p place, sealed []byte, value any) (bool, error) {
	want, err := digestOf(value)
	if err != nil {
		return false, err
	}
	var got []byte
	if err := s.open(p, sealed, &got); err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(want, got) == 1, nil
}

// digestOf hashes a value's JSON, in which encoding/json sorts the keys of maps.
func digestOf(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("digest: %w", err)
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}
