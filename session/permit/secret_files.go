package permit

import (
	"path/filepath"
	"slices"
	"strings"
)

// secretNames are files that hold keys, tokens or passwords, wherever they are.
var secretNames = strings.Fields(`
	.env .envrc .netrc _netrc .pgpass .my.cnf .htpasswd .git-credentials .npmrc .pypirc .dockercfg .vault-token .s3cfg
	.boto .databrickscfg id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk credentials credentials.json
	credentials.toml credentials.yml credentials.yaml secrets.json secrets.toml secrets.yml secrets.yaml secret.json
	secret.yml secret.yaml master.key kubeconfig application_default_credentials.json client_secret.json
	terraform.tfstate terraform.tfstate.backup wallet.dat keys.json`)

// secretEndings are how the names of such files end.
var secretEndings = strings.Fields(`
	.pem .key .p12 .pfx .pkcs12 .jks .keystore .kdbx .ppk .asc .gpg .ovpn .tfvars .env`)

// exampleWords mark a file as one that only shows what goes into it.
var exampleWords = strings.Fields("example sample template dist defaults schema")

// HoldsSecrets reports a file that, going by its name, holds keys, tokens or
// passwords: a person is asked before anything reads it.
func HoldsSecrets(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' || r == '_' })
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(exampleWords, w) }) {
		return false
	}
	return slices.Contains(secretNames, name) || strings.HasPrefix(name, ".env.") ||
		strings.HasPrefix(name, "service-account") && strings.HasSuffix(name, ".json") ||
		slices.ContainsFunc(secretEndings, func(end string) bool { return strings.HasSuffix(name, end) })
}

// readable says whether a rule lets a file be read that holds secrets: it names the
// file, or a pattern for its name.
func readable(grants []string, path string) bool {
	return anyGrant(grants, ruleSecret, func(rule string) bool {
		matches, err := filepath.Match(rule, filepath.Base(path))
		return rule == path || err == nil && matches
	})
}

// ReadableRule is the rule that lets files be read, named so or so by a pattern,
// although they hold secrets.
func ReadableRule(pattern string) string { return ruleSecret + ":" + pattern }
