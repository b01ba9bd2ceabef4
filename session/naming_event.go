package session

import "belay/models"

// Titled gives the session the title that a model wrote, unless a person gave it one.
type Titled struct {
	Title string        `json:"title"`
	By    models.Target `json:"by"`
	Usage models.Usage  `json:"usage"`
	Cost  float64       `json:"cost"` // US dollars
}

// FolderMoved says that the session's folder was moved: it goes on at the new path.
type FolderMoved struct {
	Project string `json:"project"`
	Folder  string `json:"folder"`
}

func (Titled) event()      {}
func (FolderMoved) event() {}
