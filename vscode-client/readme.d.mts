/** The marketplace's page with its pictures inside. */
export function page(root?: string): Promise<string>;
