"""The inside of a child process: loads people's files, runs their functions, answers over a socket.

Everything here is imported in each child before the first job, so that it takes only what it needs. It must not import
anything of the engine, of the store or of the pool that started it.
"""
