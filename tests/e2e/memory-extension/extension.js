// A read-only file system with one folder and one file, for the test of virtual workspaces.
const vscode = require('vscode');

const TEXT = Buffer.from('def f(c):\n    return c * 9 / 5 + 32\n');

exports.activate = (context) => {
  const changed = new vscode.EventEmitter();
  const file = (uri) => uri.path.endsWith('/convert.py');
  const known = (uri) => file(uri) || uri.path === '/project' || uri.path === '/project/';
  const missing = (uri) => vscode.FileSystemError.FileNotFound(uri);
  context.subscriptions.push(
    vscode.workspace.registerFileSystemProvider(
      'acmefs',
      {
        onDidChangeFile: changed.event,
        watch: () => new vscode.Disposable(() => {}),
        stat: (uri) => {
          if (!known(uri)) throw missing(uri);
          const type = file(uri) ? vscode.FileType.File : vscode.FileType.Directory;
          return { type, ctime: 0, mtime: 0, size: file(uri) ? TEXT.length : 0 };
        },
        readDirectory: () => [['convert.py', vscode.FileType.File]],
        readFile: (uri) => {
          if (!file(uri)) throw missing(uri);
          return TEXT;
        },
        writeFile: (uri) => {
          throw vscode.FileSystemError.NoPermissions(uri);
        },
        createDirectory: (uri) => {
          throw vscode.FileSystemError.NoPermissions(uri);
        },
        delete: (uri) => {
          throw vscode.FileSystemError.NoPermissions(uri);
        },
        rename: (uri) => {
          throw vscode.FileSystemError.NoPermissions(uri);
        },
      },
      { isReadonly: true },
    ),
  );
};
