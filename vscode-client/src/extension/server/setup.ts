/** Sets the environment up with visible progress, and reports failures with advice. */
import * as vscode from 'vscode';
import type { Environment, Source } from './environment';
import { LaunchError } from './launchError';
import type { Libs } from './libs';
import { CancelledError, InstallError, type Progress, type Step } from './pip';
import type { Interpreter } from './python';

export interface SetupContext {
  log: vscode.LogOutputChannel;
  /** Aborted when the window closes. */
  closing: AbortSignal;
  installing(step: string): void;
}

export async function install(
  environment: Environment,
  base: Interpreter,
  source: Source,
  context: SetupContext,
): Promise<string> {
  const title = vscode.l10n.t('Tierline: setting up its server (once)');
  return await shown(title, context, (progress) => environment.create(base, source, progress));
}

/** The embedded model on demand, where the package did not bring it. */
export async function installModel(
  environment: Environment,
  python: string,
  libs: Libs | null,
  context: SetupContext,
): Promise<void> {
  const title = vscode.l10n.t('Tierline: installing the embedded model');
  try {
    await shown(title, context, (progress) => environment.addModel(python, libs, progress));
  } catch (error) {
    if (!(error instanceof LaunchError) || error.kind !== 'stopped') throw error;
    throw new LaunchError('stopped', vscode.l10n.t('The embedded model was not downloaded.'), '');
  }
}

async function shown<T>(
  title: string,
  context: SetupContext,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return await vscode.window.withProgress(options, async (progress, token) => {
    const abort = new AbortController();
    let [what, shown] = ['', -1];
    const stop = (): void => abort.abort();
    token.onCancellationRequested(stop);
    context.closing.addEventListener('abort', stop, { once: true });
    if (context.closing.aborted) stop();
    try {
      return await work({
        signal: abort.signal,
        log: (line) => context.log.info(line),
        step: (step) => {
          if (step.code === 'far') {
            const percent = Math.floor((100 * step.bytes) / Math.max(step.of, 1));
            if (percent === shown) return;
            shown = percent;
          } else what = words(step);
          const message = step.code === 'far' ? `${what}: ${shown} %` : what;
          progress.report({ message });
          context.installing(message);
        },
      });
    } catch (error) {
      throw explainFailure(error);
    } finally {
      context.closing.removeEventListener('abort', stop);
    }
  });
}

export function words(step: Step): string {
  const t = vscode.l10n.t;
  switch (step.code) {
    case 'waiting':
      return t('another window is setting it up');
    case 'creating':
      return t('creating the environment');
    case 'server':
      return t('downloading the server');
    case 'model':
      return t('downloading the embedded model (132 MB)');
    case 'installing':
      return t('installing');
    case 'far':
      return `${step.bytes} / ${step.of}`;
    case 'checking':
      return t('checking the server');
    case 'retrying':
      return t('the package index does not answer; trying again');
    case 'package':
      return step.size === ''
        ? t('downloading {0}', step.name)
        : t('downloading {0} ({1})', step.name, step.size);
  }
}

export function explainFailure(error: unknown): LaunchError {
  const t = vscode.l10n.t;
  if (error instanceof CancelledError) {
    return new LaunchError(
      'stopped',
      t('The setup of the server was cancelled.'),
      t('Restart the server to set it up.'),
    );
  }
  const detail = error instanceof InstallError ? error.detail : String(error);
  const cause = error instanceof InstallError ? error.cause : 'other';
  const own = t('Or install it yourself (pip install tierline) and set tierline.python.');
  switch (cause) {
    case 'network':
      return new LaunchError(
        'noServer',
        t('The server could not be downloaded: the package index cannot be reached.'),
        `${t('Check the network and proxy; pip’s own settings count (PIP_INDEX_URL, HTTPS_PROXY, pip.conf). Then try again.')} ${own}`,
      );
    case 'certificate':
      return new LaunchError(
        'noServer',
        t('The server could not be downloaded: the package index’s certificate is not accepted.'),
        `${t('Behind a proxy with a certificate of its own, name that in PIP_CERT or pip.conf. Then try again.')} ${own}`,
      );
    case 'disk':
      return new LaunchError(
        'noServer',
        t('The server could not be installed: the disk is full.'),
        t('About 300 MB are needed, with the embedded model 600. Make room, then try again.'),
      );
    case 'permission':
      return new LaunchError(
        'noServer',
        t('The server could not be installed: {0}', detail),
        t('Make sure that the folder can be written to, then try again.'),
      );
    case 'other':
      return new LaunchError(
        'noServer',
        t('The server could not be installed: {0}', detail),
        `${t('The log says more. Fix that, then try again.')} ${own}`,
      );
  }
}
