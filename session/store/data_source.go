package store

import (
	"database/sql"
	"net/url"
	"path/filepath"
)

func connect(path, mode, pragma string) (*sql.DB, error) {
	return sql.Open("sqlite", dataSource(path, mode+pragma))
}

// dataSource is a file's name as SQLite takes it, whatever signs are in it.
func dataSource(path, query string) string {
	at := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: query}
	return at.String()
}

func pragmas(list ...string) string {
	var query string
	for _, p := range list {
		query += "&_pragma=" + url.QueryEscape(p)
	}
	return query
}
