;;; tierline.el --- Chat about code with Tierline  -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "28.1"))

;; Speaks to the server through jsonrpc.el, the part of Emacs that Eglot stands on.  Eglot itself
;; keeps one server per buffer, and that place belongs to your language; so Tierline runs beside it
;; over a connection of its own, and a buffer's text is sent when it has changed and is needed.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'project)
(require 'url-util)

(defgroup tierline nil "Chat about code." :group 'tools)

(defcustom tierline-command '("tierline" "serve")
  "The program and its arguments." :type '(repeat string))

(defcustom tierline-settings nil
  "Settings as a property list, nested as in docs/configuration.md.
For example (:provider (:name \"auto\") :context (:mode \"light\"))."
  :type 'plist)

(defvar tierline-budget nil "The newest budget, as a property list; for the mode line.")
(defvar tierline-outcome nil "How the last turn ended, a string; nil while it runs.")
(defvar tierline--connection nil)
(defvar-local tierline--sent nil "The version and the tick of the text that the server has.")

(defun tierline--say (format &rest arguments)
  (apply #'message (concat "Tierline: " format) arguments))

(defun tierline--uri (file)
  (concat "file://" (url-hexify-string (expand-file-name file) url-path-allowed-chars)))

(defun tierline--this-uri ()
  (tierline--uri (or buffer-file-name (user-error "This buffer visits no file"))))

;;;; The conversation

(defun tierline--append (text)
  (with-current-buffer (get-buffer-create "*tierline*")
    (let ((windows (cl-remove-if-not (lambda (window) (= (window-point window) (point-max)))
                                     (get-buffer-window-list nil nil t))))
      (save-excursion (goto-char (point-max)) (insert text))
      (dolist (window windows) (set-window-point window (point-max))))))

(defun tierline--event (body)
  "Take in one step of what happens: the BODY of an event."
  (pcase (plist-get body :kind)
    ("turnStarted"
     (setq tierline-outcome nil)
     (tierline--append
      (format "\n\n> %s\n\n"
              (replace-regexp-in-string "\n" "\n> " (plist-get (plist-get body :message) :text)))))
    ("textDelta" (tierline--append (plist-get body :text)))
    ("notice" (tierline--say "%s" (plist-get body :text)))
    ("budgetChanged" (setq tierline-budget (plist-get body :budget)) (force-mode-line-update t))
    ("turnFinished"
     (unless (equal (plist-get body :error) "")
       (tierline--append (format "\n*%s %s*" (plist-get body :error) (plist-get body :advice))))
     (setq tierline-outcome (plist-get body :outcome)))))

;;;; The connection

(defun tierline--notified (_connection method parameters)
  (when (eq method 'tierline/chat/event)
    (tierline--event (plist-get parameters :body))))

(defun tierline--asked (_connection method _parameters)
  "Answer the server's own requests: it may register, and it may ask nothing else."
  (unless (memq method '(client/registerCapability window/workDoneProgress/create))
    (jsonrpc-error :code -32601 :message "Not supported by this client")))

(defun tierline--start ()
  (let* ((project (project-current))
         (root (expand-file-name (if project (car (project-roots project)) default-directory)))
         (connection
          (make-instance
           'jsonrpc-process-connection
           :name "tierline"
           :notification-dispatcher #'tierline--notified
           :request-dispatcher #'tierline--asked
           :on-shutdown (lambda (_) (setq tierline--connection nil))
           :process (make-process :name "tierline" :command tierline-command
                                  :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                                  :stderr (get-buffer-create "*tierline log*")))))
    (jsonrpc-request
     connection :initialize
     (list :processId (emacs-pid)
           :rootUri (tierline--uri root)
           :workspaceFolders (vector (list :uri (tierline--uri root)
                                           :name (file-name-nondirectory (directory-file-name root))))
           :capabilities (make-hash-table)
           :initializationOptions (list :settings (or tierline-settings (make-hash-table)))))
    (jsonrpc-notify connection :initialized (make-hash-table))
    (setq tierline--connection connection)))

(defun tierline--connected ()
  (if (and tierline--connection (jsonrpc-running-p tierline--connection))
      tierline--connection
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer (setq tierline--sent nil)))
    (tierline--start)))

(defun tierline--sync ()
  "Tell the server the text of every buffer whose text it does not have."
  (let ((connection (tierline--connected)))
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when (and buffer-file-name
                   (if tierline--sent
                       (/= (cdr tierline--sent) (buffer-chars-modified-tick))
                     (or (buffer-modified-p) (get-buffer-window nil t))))
          (tierline--send-text connection))))))

(defun tierline--send-text (connection)
  (let* ((version (1+ (or (car tierline--sent) 0)))
         (text (save-restriction (widen)
                                 (buffer-substring-no-properties (point-min) (point-max))))
         (uri (tierline--this-uri))
         (language (replace-regexp-in-string "\\(-ts\\)?-mode\\'" "" (symbol-name major-mode))))
    (if tierline--sent
        (jsonrpc-notify connection :textDocument/didChange
                        (list :textDocument (list :uri uri :version version)
                              :contentChanges (vector (list :text text))))
      (jsonrpc-notify connection :textDocument/didOpen
                      (list :textDocument (list :uri uri :version version
                                                :languageId language :text text)))
      (add-hook 'kill-buffer-hook #'tierline--closed nil t))
    (setq tierline--sent (cons version (buffer-chars-modified-tick)))))

(defun tierline--closed ()
  (when (and tierline--sent tierline--connection (jsonrpc-running-p tierline--connection))
    (jsonrpc-notify tierline--connection :textDocument/didClose
                    (list :textDocument (list :uri (tierline--this-uri))))))

(defun tierline-request (name &optional parameters)
  "Call NAME, as \"history.undo\", with PARAMETERS, a property list.  Return the answer."
  (tierline--sync)
  (condition-case problem
      (jsonrpc-request (tierline--connected) :workspace/executeCommand
                       (list :command (concat "tierline." name)
                             :arguments (if parameters (vector parameters) [])))
    (jsonrpc-error
     (let* ((facts (cdr problem))
            (data (alist-get 'jsonrpc-error-data facts)))
       (user-error "Tierline: %s %s"
                   (alist-get 'jsonrpc-error-message facts)
                   (or (and (listp data) (plist-get data :advice)) ""))))))

;;;; Commands

(defun tierline--tell-refused (result)
  "Say aloud what in RESULT was not taken: otherwise one would believe that the model sees it."
  (mapc (lambda (file) (tierline--say "%s" (plist-get file :reason))) (plist-get result :refused))
  (mapc (lambda (text) (tierline--say "%s" text)) (plist-get result :notices)))

;;;###autoload
(defun tierline-add ()
  "Put this buffer's file into the context."
  (interactive)
  (tierline--tell-refused (tierline-request "files.add" (list :uri (tierline--this-uri)))))

;;;###autoload
(defun tierline-pin ()
  "Pin this buffer's file: it is left out last when the window gets tight."
  (interactive)
  (tierline--tell-refused (tierline-request "files.pin" (list :uri (tierline--this-uri)))))

;;;###autoload
(defun tierline-chat (question)
  "Ask QUESTION; the active region goes with it.  The reply streams into the buffer *tierline*."
  (interactive "sAsk: ")
  (let ((selection (if (use-region-p)
                       (buffer-substring-no-properties (region-beginning) (region-end))
                     ""))
        (uri (if buffer-file-name (tierline--this-uri) "")))
    (with-current-buffer (get-buffer-create "*tierline*")
      (when (and (eq major-mode 'fundamental-mode) (fboundp 'markdown-mode)) (markdown-mode))
      (visual-line-mode)
      (display-buffer (current-buffer)))
    (if (string-match-p "\\`/[a-z]+\\(?:\\s-\\|\\'\\)" question) ; a command: docs/history.md
        (tierline--append
         (concat "\n" (plist-get (tierline-request "chat.command" (list :text question)) :text)
                 "\n"))
      (setq tierline-outcome nil)
      (mapc (lambda (text) (tierline--say "%s" text))
            (plist-get (tierline-request
                        "chat.send" (list :text question :activeUri uri :selection selection))
                       :notices)))))

(defun tierline-stop ()
  "Stop the reply; what has arrived is kept."
  (interactive)
  (tierline-request "chat.cancel"))

(defun tierline-undo ()
  "Take back the last turn."
  (interactive)
  (tierline-request "history.undo")
  (tierline--say "the last turn is taken back"))

(defun tierline-show-budget ()
  "Say how large the next request is."
  (interactive)
  (setq tierline-budget (tierline-request "budget.get"))
  (tierline--say "%d of %d tokens" (plist-get tierline-budget :used)
                 (plist-get tierline-budget :maxInputTokens)))

(defun tierline-shutdown ()
  "End the server; the conversation is on disk and comes back with the next start."
  (interactive)
  (when tierline--connection
    (let ((connection tierline--connection))
      (jsonrpc-request connection :shutdown nil :timeout 5)
      (jsonrpc-notify connection :exit nil)
      (with-timeout (5 nil)
        (while (jsonrpc-running-p connection) (accept-process-output nil 0.05)))
      (jsonrpc-shutdown connection))))

(provide 'tierline)
;;; tierline.el ends here
