export declare function bundle(root?: string): Promise<string>;
