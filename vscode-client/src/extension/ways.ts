/** The first page's ways to a model: finding them on this machine, and choosing one. */
import * as vscode from 'vscode';
import type { Way, Ways } from '../shared/ways';
import type { Keys } from './keys';
import type { Models } from './models';
import type { Session } from './session';

const MAX_SERVERS = 5;
const MAX_EDITOR_MODELS = 3;

export class ModelWays {
  constructor(
    private readonly session: Session,
    private readonly keys: Pick<Keys, 'paste'>,
    private readonly models: Pick<Models, 'useFound' | 'useEditors'>,
  ) {}

  /** Asks the known ports of this machine for their models; sends nothing else. */
  async list(): Promise<Ways> {
    const { providers } = await this.session.server.request('tierline/provider/list', {});
    const embedded = providers.find(({ origin }) => origin === 'embedded');
    return {
      servers: providers
        .filter(({ origin, models }) => origin === 'found' && models.length > 0)
        .slice(0, MAX_SERVERS)
        .map(({ name, baseUrl, model, models }) => ({
          name,
          baseUrl,
          model,
          more: models.length - 1,
        })),
      editor: (providers.find(({ origin }) => origin === 'editor')?.models ?? []).slice(
        0,
        MAX_EDITOR_MODELS,
      ),
      embedded: embedded?.available === true,
    };
  }

  async take({ way, name }: Way): Promise<void> {
    switch (way) {
      case 'key':
        await this.keys.paste();
        return;
      case 'server':
        await this.models.useFound(name);
        return;
      case 'editor':
        await this.models.useEditors(name);
        return;
      case 'embedded':
        if (!(await this.list()).embedded) {
          await vscode.commands.executeCommand('tierline.installModel');
        }
    }
  }
}
