;;; Uses the documented configuration as a user would; what Emacs saw is written to seen.json.  -*- lexical-binding: t; -*-

(defvar seen nil)
(defvar said nil)
(defconst OUT (expand-file-name "seen.json"))

(defun note (key value) (setq seen (plist-put seen key value)))

(defun wait (what condition)
  (with-timeout (20 (princ (format "timed out: %s %S" what seen) #'external-debugging-output)
                    (kill-emacs 1))
    (while (not (funcall condition)) (accept-process-output nil 0.02))))

(defun conversation () (with-current-buffer "*tierline*" (buffer-string)))

(advice-add 'message :before
            (lambda (format &rest arguments)
              (when format (push (apply #'format format arguments) said))))

(load CONFIG nil t)
(setq tierline-command SERVER)
(find-file "src/a.py")
(erase-buffer)
(insert "UNSAVED_NAME = 'ä'\nOTHER = 2\n")
(tierline-add)
(note :added (plist-get (tierline-request "files.list") :files))
(tierline-pin)
(note :pinned (plist-get (tierline-request "files.list") :files))
(find-file ".env")
(tierline-add)
(note :refusal (car said))
(switch-to-buffer "a.py")

;; A whole reply.
(tierline-chat "What is in the file?")
(wait "reply" (lambda () tierline-outcome))
(note :outcome tierline-outcome)
(note :conversation (conversation))

;; The selected lines after an edit, and a reply that stops half-way.
(goto-char (point-max))
(insert "LATER = 3\n")
(push-mark (point-min) t t)
(setq transient-mark-mode t)
(tierline-chat "Go on.")
(wait "stream" (lambda () (string-suffix-p "Half of it" (conversation))))
(note :running (if tierline-outcome :json-false t))
(tierline-stop)
(wait "stop" (lambda () tierline-outcome))
(note :stopped tierline-outcome)
(note :before (plist-get (tierline-request "state.get") :messages))

(tierline-show-budget)
(note :budget tierline-budget)
(note :budgetSaid (car said))
(tierline-undo)
(note :after (plist-get (tierline-request "state.get") :messages))
(tierline-chat "/context window 2")
(note :commanded (conversation))
(note :window (plist-get (tierline-request "history.status") :window))
(note :problem (condition-case problem
                   (tierline-request "history.drop" (list :groupId "no-such-turn"))
                 (user-error (cadr problem))))
(tierline-shutdown)
(note :ended (if tierline--connection :json-false t))

(with-temp-file OUT (insert (json-serialize seen :false-object :json-false)))
(kill-emacs 0)
