package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"belay/session"
	"belay/session/files"
	"belay/session/store"
	"belay/ui/cli/app"
	"belay/ui/locale"
	"belay/ui/theme"
)

// movedHere finds the session of a folder that has another path than it had when the
// session began: the file system knows it as the same, and nothing is left at the old
// path.
func movedHere(ctx context.Context, st *store.Store, project string) (session.Session, bool, error) {
	id := files.FolderID(project)
	if id == "" {
		return session.Session{}, false, nil
	}
	list, err := st.List(ctx, session.Filter{})
	if err != nil {
		return session.Session{}, false, err
	}
	for _, s := range list {
		if s.Folder == id && isGone(s.Project) {
			return s, true, nil
		}
	}
	return session.Session{}, false, nil
}

// folderOf is the folder that a session goes on in: its own, or the one to work in if
// that is where its own was moved to.
func (cli CLI) folderOf(ctx context.Context, s session.Session, here string) (string, error) {
	if s.Folder != "" && isGone(s.Project) && files.FolderID(here) == s.Folder {
		return here, cli.follow(ctx, s, here)
	}
	return s.Project, checkFolder(s)
}

func isGone(project string) bool {
	_, err := os.Stat(project)
	return errors.Is(err, fs.ErrNotExist)
}

// follow lets a session, and those of its steps, go on where its folder is now. The files
// of its checkpoints move along; what was allowed and trusted at the old path does not.
func (cli CLI) follow(ctx context.Context, moved session.Session, project string) error {
	ids := []session.ID{moved.ID}
	if moved.Plan != nil {
		ids = append(ids, moved.Plan.Planning)
		for _, step := range moved.Plan.Steps {
			ids = append(ids, step.Session)
		}
	}
	err := app.ChangeStore(ctx, cli.Err, func(st *store.Store) error {
		for _, id := range ids {
			if id == "" {
				continue
			}
			s, err := st.Load(ctx, id)
			if errors.Is(err, store.ErrNotFound) {
				continue // a step whose session was deleted
			}
			if err != nil {
				return err
			}
			event := session.FolderMoved{Project: project, Folder: files.FolderID(project)}
			if _, _, err := st.Append(ctx, id, s.Turn, event); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("follow the folder: %w", err)
	}
	if err := app.MoveSnapshots(ctx, moved.Project, project); err != nil {
		fmt.Fprintln(cli.Err, "belay: "+locale.T("the files of earlier checkpoints stay behind: %v", err))
	}
	fmt.Fprintln(cli.Err, "belay: "+locale.T("this folder was %s: session %s goes on here",
		theme.Line(moved.Project), moved.ID))
	return nil
}
