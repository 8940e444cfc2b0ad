/** The HTML around a webview's bundle, with a policy that allows nothing else. */
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { language } from './language';

/** ``name`` is the bundle's: ``dist/name.js`` and ``dist/name.css``. */
export function webviewPage(
  webview: vscode.Webview,
  dist: vscode.Uri,
  name: string,
  title: string,
): string {
  const nonce = randomBytes(18).toString('base64');
  const asset = (file: string): string =>
    webview.asWebviewUri(vscode.Uri.joinPath(dist, file)).toString();
  const spoken = language();
  const texts = escaped(JSON.stringify(spoken));
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    'img-src data:',
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="${escaped(spoken.id)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${asset('codicon.css')}">
<link rel="stylesheet" href="${asset(`${name}.css`)}">
<meta name="l10n" content="${texts}">
<title>${escaped(title)}</title>
</head>
<body>
<div id="root"></div>
<script nonce="${nonce}" src="${asset(`${name}.js`)}"></script>
</body>
</html>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
