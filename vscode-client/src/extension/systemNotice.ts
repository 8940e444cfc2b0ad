/**
 * A notification of the operating system, shown with the system's own program: an extension has no
 * other way. Texts are passed as arguments or variables; none becomes a part of a script.
 */
import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

interface Program {
  file: string;
  args: string[];
  env: NodeJS.ProcessEnv;
}

/** Without a desktop that answers, the program is ended after so long. */
const TIMEOUT_MS = 5_000;
/** No system shows more. */
const LONGEST = 240;

const APPLE_SCRIPT = [
  'on run argv',
  'display notification (item 2 of argv) with title (item 1 of argv)',
  'end run',
];

/** The sender must be known to Windows; PowerShell itself always is. */
const TOAST = [
  "$ErrorActionPreference = 'Stop'",
  '[void][Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]',
  '[void][Windows.Data.Xml.Dom.XmlDocument, Windows.Data.Xml.Dom.XmlDocument, ContentType = WindowsRuntime]',
  '$manager = [Windows.UI.Notifications.ToastNotificationManager]',
  '$kind = [Windows.UI.Notifications.ToastTemplateType]::ToastText02',
  '$xml = [xml]$manager::GetTemplateContent($kind).GetXml()',
  "$texts = $xml.GetElementsByTagName('text')",
  '[void]$texts.Item(0).AppendChild($xml.CreateTextNode($env:TIERLINE_NOTICE_TITLE))',
  '[void]$texts.Item(1).AppendChild($xml.CreateTextNode($env:TIERLINE_NOTICE_TEXT))',
  '$toast = New-Object Windows.Data.Xml.Dom.XmlDocument',
  '$toast.LoadXml($xml.OuterXml)',
  "$sender = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe'",
  '$manager::CreateToastNotifier($sender).Show([Windows.UI.Notifications.ToastNotification]::new($toast))',
].join('; ');

/** The command for a platform; null if none is known. */
export function program(
  platform: NodeJS.Platform,
  title: string,
  text: string,
  env: NodeJS.ProcessEnv = process.env,
): Program | null {
  const [head, body] = [plain(title), plain(text)];
  switch (platform) {
    case 'darwin': {
      const script = APPLE_SCRIPT.flatMap((line) => ['-e', line]);
      return { file: '/usr/bin/osascript', args: [...script, head, body], env };
    }
    case 'win32': {
      // By its full path: otherwise the working directory is searched first.
      const folder = env.SystemRoot ?? 'C:\\Windows';
      const file = path.win32.join(folder, 'System32/WindowsPowerShell/v1.0/powershell.exe');
      const args = ['-NoProfile', '-NonInteractive', '-Command', TOAST];
      const said = { TIERLINE_NOTICE_TITLE: head, TIERLINE_NOTICE_TEXT: body };
      return { file, args, env: { ...env, ...said } };
    }
    case 'linux':
    case 'freebsd':
    case 'openbsd':
      return { file: 'notify-send', args: ['--app-name=Tierline', '--', head, markup(body)], env };
    default:
      return null;
  }
}

/** Shows it. False if the system cannot, or does not within seconds. */
export function raise(
  title: string,
  text: string,
  platform: NodeJS.Platform = process.platform,
  env: NodeJS.ProcessEnv = process.env,
): Promise<boolean> {
  const found = program(platform, title, text, env);
  if (found === null) return Promise.resolve(false);
  const options = { env: found.env, cwd: homedir(), timeout: TIMEOUT_MS, windowsHide: true };
  return new Promise((resolve) => {
    execFile(found.file, found.args, options, (error) => resolve(error === null));
  });
}

/** One line without control characters and without what turns the direction of writing. */
function plain(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  return [...line].slice(0, LONGEST).join('');
}

/** The body of a freedesktop notification is markup, and `notify-send` reads escapes in it. */
function markup(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\\', '\\\\');
}
