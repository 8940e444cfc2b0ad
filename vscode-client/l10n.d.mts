export declare function bundle(root?: string): Promise<string>;
export declare function sources(root?: string): Promise<string[]>;
