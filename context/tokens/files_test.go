package tokens

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

var update = flag.Bool("update", false, "write the vocabularies anew from tiktoken-go-loader")

// packed is a vocabulary as it is embedded: each token's length in a byte, then
// its bytes, in order of rank.
func packed(t *testing.T, name string) []byte {
	t.Helper()
	file, err := assets.Assets.ReadFile(name + ".tiktoken")
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for rank, line := range bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n")) {
		coded, number, _ := bytes.Cut(line, []byte(" "))
		token, err := base64.StdEncoding.DecodeString(string(coded))
		if err != nil || string(number) != strconv.Itoa(rank) || len(token) == 0 || len(token) > maxToken {
			t.Fatalf("line %d: %s", rank+1, line)
		}
		out = append(append(out, byte(len(token))), token...)
	}
	return out
}

func TestTheEmbeddedVocabulariesAreTiktokens(t *testing.T) {
	for _, e := range encodings {
		want := packed(t, e.name)
		if *update {
			writePacked(t, e.name, want)
			continue
		}
		file, err := e.open()
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := got.ReadFrom(file); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s differs (%v); go test ./context/tokens -run Embedded -update writes it anew", e.name, err)
		}
	}
}

func writePacked(t *testing.T, name string, data []byte) {
	t.Helper()
	var file bytes.Buffer
	writer, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("vocabularies/"+name+".gz", file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
